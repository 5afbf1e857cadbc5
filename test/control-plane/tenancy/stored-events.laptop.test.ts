import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import type {
	ArchiveClient,
	ReceiveClient,
} from "../../../api/http/endpoint.ts";
import {
	type Pipeline,
	pipelineKind,
	type Source,
	sourceKind,
} from "../../../crds/generated/types.ts";
import { listEvents } from "../../../ingest/lake/events/listing.ts";
import { findEvent } from "../../../ingest/lake/events/lookup.ts";
import type { FrameEvent } from "../../../ingest/wire/frame-event.ts";
import type { SourceLedger } from "../../../packages/contracts/ledger.ts";
import type {
	EventAnswer,
	EventsAnswer,
} from "../../../packages/contracts/stored-event.ts";
import { inProcess as tidemill } from "../../support/cli/in-process.ts";
import {
	administrator,
	apiClient,
	newAccount,
	startApi,
	type TestApi,
} from "../../support/fixtures/control-plane/api-fixture.ts";
import { withoutArchive } from "../../support/fixtures/control-plane/without-nats.ts";
import {
	eventAt,
	idOf,
	StoredEvents,
} from "../../support/fixtures/data-plane/stored-events.ts";

/*
 * Who sees which stored events, by REST and by the command line. Archive's own rules answer, over a stream and a bucket in memory:
 * test/data-plane/archive-events.laptop.test.ts has real ones.
 */

const noonMs = Date.parse("2026-03-01T12:00:00.000Z");
const stored = new StoredEvents();

let api: TestApi;
let shop: Tenant;
let thief: Tenant;
const first = "0190a000-0000-7000-8000-000000000001";
const sentAgain: Parameters<ReceiveClient["sendAgain"]>[] = [];
let onFollow: ArchiveClient["followArchive"];

interface Tenant extends Awaited<ReturnType<typeof newAccount>> {
	sourceKey: string;
	/** The older one is archived. */
	events: [FrameEvent, FrameEvent];
}

const askEvents: ArchiveClient["askEvents"] = async (_, question) => {
	const { account, sourceKeys, list, id, body } = question;
	if (list) {
		const page = await listEvents(stored, account, sourceKeys[0]!, list);
		return { answer: page as EventsAnswer & { ok: true } };
	}
	const found = await findEvent(stored, {
		account,
		sourceKeys,
		id: id!,
		whole: body === true,
		keyMs: 0,
	});
	return {
		answer: found.answer as EventAnswer & { ok: true },
		...(found.body && { body: Buffer.from(found.body) }),
	};
};

/** A new account with a Source "shop", one Pipeline and two events of its own. */
async function newTenant(digit: string): Promise<Tenant> {
	const made = await newAccount();
	const sourceKey = digit.repeat(32);
	const admin = administrator();
	const metadata = { name: "shop", namespace: made.account };
	const source = await admin.create<Source>(sourceKind, {
		metadata,
		spec: { type: "Webhook" },
	} as never);
	await admin.replace(
		sourceKind,
		{ ...source, status: { sourceKey, shard: 0 } },
		{ subresource: "status" },
	);
	await admin.create<Pipeline>(pipelineKind, {
		metadata: { ...metadata, name: "orders" },
		spec: {
			sourceRef: { name: "shop" },
			destinationRef: { name: "warehouse" },
			dateRange: { end: "Today" },
			schedule: { type: "Manual" },
		},
	} as never);
	const eventOf = (ms: number) =>
		eventAt(noonMs + ms, {
			account: made.account,
			sourceKey,
			body: Buffer.from(`"of ${made.account}"`),
		});
	return { ...made, sourceKey, events: [eventOf(0), eventOf(1_000)] };
}

beforeAll(async () => {
	shop = await newTenant("5");
	thief = await newTenant("6");
	for (const { events } of [shop, thief]) stored.publish([events[0]]);
	await stored.archive();
	for (const { events } of [shop, thief]) stored.publish([events[1]]);
	api = await startApi(undefined, {
		receive: {
			sendAgain: async (...asked) => {
				sentAgain.push(asked);
				return { status: 200, eventID: first };
			},
		},
		archive: {
			...withoutArchive,
			askEvents,
			followArchive: (...tail) => onFollow(...tail),
			readCounts: async ({ sourceKey }) => ({
				ledger: ledgerOf(sourceKey),
				released: undefined,
			}),
		},
	});
});

afterAll(() => api.api.close());

/** As many events today as the first digit of the Source's key says. */
function ledgerOf(sourceKey: string): SourceLedger {
	const { account } = [shop, thief].find((one) => one.sourceKey === sourceKey)!;
	const now = new Date().toISOString();
	const date = now.slice(0, 10);
	return {
		version: 1,
		account,
		sourceKey,
		firstEventDate: date,
		lastEventTime: now,
		archivedThrough: now,
		archived: { [date]: Number(sourceKey[0]) },
	};
}

const idsIn = ({ items }: { items: object[] }) =>
	items.map((item) => (item as { eventId: string }).eventId);

test("each account lists, gets and traces the events of its own Source of the same name", async () => {
	for (const { tokens, events } of [shop, thief]) {
		const viewer = apiClient(api.url, tokens.viewer);
		const list = await viewer("GET", "/v1/sources/shop/events");
		expect(list.status).toBe(200);
		expect(idsIn(list.body)).toEqual(events.map(idOf).reverse());
		for (const [event, stage] of [
			[events[0], "Bucket"],
			[events[1], "Buffer"],
		] as const) {
			const one = `/v1/sources/shop/events/${idOf(event)}`;
			expect(await viewer("GET", one)).toMatchObject({
				status: 200,
				body: { eventId: idOf(event), source: "shop", stage },
			});
			expect(await viewer("GET", `/v1/events/${idOf(event)}`)).toMatchObject({
				status: 200,
				body: {
					eventId: idOf(event),
					stage,
					loads: [{ pipeline: "orders", state: "Waiting" }],
				},
			});
		}
	}
});

test("each account counts the dates of its own Source, and who may not see events counts none", async () => {
	const path = "/v1/sources/shop/days";
	for (const { sourceKey, tokens } of [shop, thief]) {
		const { status, body } = await apiClient(api.url, tokens.viewer)(
			"GET",
			path,
		);
		expect([status, body.items[0]]).toMatchObject([
			200,
			{
				received: Number(sourceKey[0]),
				loads: [{ pipeline: "orders", state: "Waiting" }],
			},
		]);
		const nobody = apiClient(api.url, tokens.nobody);
		expect((await nobody("GET", path)).status).toBe(403);
	}
});

test("a body needs a right of its own", async () => {
	const path = `/v1/sources/shop/events/${idOf(shop.events[0])}?body=true`;
	const viewer = apiClient(api.url, shop.tokens.viewer);
	expect(await viewer("GET", path)).toMatchObject({
		status: 403,
		body: { detail: expect.stringContaining("sources/bodies") },
	});
	const editor = apiClient(api.url, shop.tokens.editor);
	expect(await editor("GET", path)).toMatchObject({
		status: 200,
		body: { body: `"of ${shop.account}"` },
	});
});

test("a search in bodies needs the right to them, and finds nothing of another account", async () => {
	const from = "from=2026-03-01T00:00:00Z";
	const search = (what: string) =>
		`/v1/sources/shop/events?${from}&match=${encodeURIComponent(`=of ${what}`)}`;
	const viewer = apiClient(api.url, shop.tokens.viewer);
	expect(await viewer("GET", search(shop.account))).toMatchObject({
		status: 403,
		body: { detail: expect.stringContaining("sources/bodies") },
	});
	const glimpses = "/v1/sources/shop/events?glimpse=true";
	expect((await viewer("GET", glimpses)).status).toBe(403);
	const editor = apiClient(api.url, shop.tokens.editor);
	expect((await editor("GET", glimpses)).body.items[0]).toMatchObject({
		glimpse: `"of ${shop.account}"`,
	});
	const own = await editor("GET", search(shop.account));
	expect(idsIn(own.body)).toEqual(shop.events.map(idOf).reverse());
	const theirs = await editor("GET", search(thief.account));
	expect(idsIn(theirs.body)).toEqual([]);
	asOwner();
	const found = await tidemill(
		...["events", "list", "shop", "--from", "2026-03-01T00:00:00Z"],
		...["--match", `=of ${shop.account}`, "-o", "json"],
	);
	expect(JSON.parse(found.stdout)).toHaveLength(2);
});

test("a stored event is sent again by who may read bodies and change the Source, and by nobody else", async () => {
	const again = `/v1/sources/shop/events/${idOf(shop.events[0])}/send-again`;
	for (const who of ["viewer", "runner", "nobody"] as const) {
		const client = apiClient(api.url, shop.tokens[who]);
		expect((await client("POST", again, {})).status).toBe(403);
	}
	const stranger = apiClient(api.url, thief.tokens.editor);
	expect((await stranger("POST", again, {})).status).toBe(404);
	expect(sentAgain).toEqual([]);
	const editor = apiClient(api.url, shop.tokens.editor);
	expect(await editor("POST", again, { as: "Twice" })).toMatchObject({
		status: 400,
		body: {
			details: [
				{ path: "as", message: 'must be Repeat or New, and is "Twice"' },
			],
		},
	});
	expect(await editor("POST", again, { as: "Repeat" })).toMatchObject({
		status: 200,
		body: {
			name: "shop",
			accepted: true,
			eventId: first,
			became: "New",
			sent: { headerNames: [], parameterNames: [] },
		},
	});
	const [[question, body] = []] = sentAgain;
	expect(question).toEqual({
		account: shop.account,
		sourceKey: shop.sourceKey,
		of: idOf(shop.events[0]),
		kind: "json",
		fields: {},
		as: "Repeat",
	});
	expect(Buffer.from(body!).toString()).toBe(`"of ${shop.account}"`);
});

test("nobody gets another account's events, by their IDs, its name or a cursor", async () => {
	const editor = apiClient(api.url, thief.tokens.editor);
	for (const event of shop.events)
		for (const path of [
			`/v1/sources/shop/events/${idOf(event)}`,
			`/v1/sources/shop/events/${idOf(event)}?body=true`,
			`/v1/events/${idOf(event)}`,
		]) {
			const answer = await editor("GET", path);
			expect(answer.status).toBe(404);
			expect(JSON.stringify(answer.body)).not.toContain(shop.account);
		}
	const as = { "tidemill-account": shop.account };
	for (const path of [
		"/v1/sources/shop/events",
		`/v1/events/${idOf(shop.events[0])}`,
	])
		expect((await editor("GET", path, undefined, as)).status).toBe(403);
	const owner = apiClient(api.url, shop.tokens.viewer);
	const first = await owner("GET", "/v1/sources/shop/events?limit=1");
	const rest = await editor(
		"GET",
		`/v1/sources/shop/events?cursor=${first.body.cursor}`,
	);
	expect(idsIn(rest.body)).not.toContain(idOf(shop.events[0]));
});

test.each(["runner", "nobody"] as const)("a %s sees none", async (who) => {
	const client = apiClient(api.url, shop.tokens[who]);
	for (const path of [
		"/v1/sources/shop/events",
		`/v1/sources/shop/events/${idOf(shop.events[0])}`,
		`/v1/events/${idOf(shop.events[0])}`,
	])
		expect((await client("GET", path)).status).toBe(403);
});

function asOwner(): void {
	vi.stubEnv("TIDEMILL_API_URL", `${api.url}/v1`);
	vi.stubEnv("TIDEMILL_API_TOKEN", shop.tokens.editor);
	onTestFinished(() => void vi.unstubAllEnvs());
}

test("the command line lists, gets and traces them", async () => {
	asOwner();
	const [archived, buffered] = shop.events.map(idOf) as [string, string];
	const list = await tidemill("events", "list", "shop");
	expect(list.stdout).toMatch(
		new RegExp(`^EVENT ID .*\n${buffered} .*\n${archived} .*\n$`),
	);
	const got = await tidemill("events", "get", "shop", archived, "--body");
	expect(JSON.parse(got.stdout)).toMatchObject({
		eventId: archived,
		body: `"of ${shop.account}"`,
	});
	const traced = await tidemill("trace", buffered);
	expect(traced.stdout).toMatch(/^received .*by source shop/);
	expect(traced.stdout).toContain("pipeline orders");
	const foreign = await tidemill("trace", idOf(thief.events[0]));
	expect(foreign).toMatchObject({
		exitCode: 1,
		stderr: expect.stringContaining("There is no event"),
	});
});

test("the command line follows new events until the Source is gone", async () => {
	asOwner();
	const gone = new Set<string>();
	onFollow = async ({ account }, listener) => {
		listener.onArchive(true);
		const event = {
			sequence: 1,
			index: 0,
			eventID: idOf(shop.events[1]),
			time: "2026-03-01T12:00:01.000Z",
			kind: "json" as const,
			bytes: 3,
			state: "accepted" as const,
		};
		listener.onEvents([event], "tidemill-frames-0-0123456789abcdef");
		await administrator().delete(sourceKind, "shop", account);
		gone.add(account);
		throw new Error("the connection is lost");
	};
	const { stdout, stderr, exitCode } = await tidemill("events", "tail", "shop");
	expect([...gone]).toEqual([shop.account]);
	expect(stdout).toBe(
		`2026-03-01T12:00:01.000Z   accepted      ${idOf(shop.events[1])}   3 B\n`,
	);
	expect(stderr).toContain(`There is no source "shop"`);
	expect(exitCode).toBe(1);
});
