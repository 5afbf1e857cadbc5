import type { NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { followArchive } from "../../api/events/archive-tail.ts";
import { maxHeldBytes } from "../../ingest/lake/tail/held-frames.ts";
import { ShardTails } from "../../ingest/lake/tail/shard-tails.ts";
import type {
	TailedEvent,
	TailPosition,
} from "../../packages/contracts/event-tail.ts";
import type { Route } from "../../packages/contracts/route.ts";
import { FairRoom } from "../../packages/fair/fair-room.ts";
import { createLog } from "../../packages/service/log.ts";
import {
	type ReceiveFixture,
	startReceiveFixture,
} from "../support/fixtures/data-plane/receiver.ts";
import { sendJSON, untilKnown } from "../support/senders/http-client.ts";
import { connectAs } from "../support/servers/servers.ts";

/* A live tail from the sender to the API's listener: real receive, real NATS, and the users of each role. */

const soon = { timeout: 120_000, interval: 20 };
const log = createLog("test");

let fixture: ReceiveFixture;
let api: NatsConnection;
let archive: NatsConnection;
let tails: ShardTails;

beforeAll(async () => {
	fixture = await startReceiveFixture({ allow_direct: true });
	api = await connectAs(fixture.nats, "api");
	archive = await connectAs(fixture.nats, "archive");
	tails = new ShardTails({
		connection: archive,
		shard: 0,
		held: new FairRoom(maxHeldBytes),
		log,
	});
});

afterAll(async () => {
	tails.close();
	await archive.close();
	await api.close();
	await fixture.stop();
});

async function newSource(
	change: Partial<Route> = {},
): Promise<{ url: string; route: Route }> {
	const { path, route } = await fixture.routes.add(change);
	const url = fixture.receiver.url + path;
	await untilKnown(url);
	return { url, route };
}

interface Heard {
	events: TailedEvent[];
	places: TailPosition[];
	isThere: boolean[];
	leftOut: (number | undefined)[];
	stop(): Promise<void>;
}

/** Follows a Source; settles when archive shows its new events. */
async function follow(
	{ account, sourceKey }: Route,
	{
		withBody = false,
		after,
	}: { withBody?: boolean; after?: TailPosition } = {},
): Promise<Heard> {
	const heard: Omit<Heard, "stop"> = {
		events: [],
		places: [],
		isThere: [],
		leftOut: [],
	};
	const over = new AbortController();
	const following = followArchive(
		() => api,
		{ account, sourceKey, shard: 0, withBody, after },
		{
			onEvents: (events, stream) => {
				heard.events.push(...events);
				for (const { sequence, index } of events)
					heard.places.push({ stream, sequence, index });
			},
			onLeftOut: (count) => heard.leftOut.push(count),
			onArchive: (isThere) => heard.isThere.push(isThere),
		},
		over.signal,
	);
	const stop = async () => {
		over.abort();
		await following;
	};
	onTestFinished(stop);
	await vi.waitFor(() => expect(heard.isThere[0]).toBe(true), soon);
	return Object.assign(heard, { stop });
}

const idsOf = ({ events }: Heard) => events.map(({ eventID }) => eventID);

async function sendTo(url: string, body: string): Promise<string> {
	const { json } = await sendJSON(url, body);
	return json.event_id;
}

test("a tail shows the events of its Source alone, with what is known of them and no bodies", async () => {
	const mine = await newSource({ account: "acme" });
	const theirs = await newSource({ account: "bank" });
	const heard = await follow(mine.route);
	await sendTo(theirs.url, '{"theirs":1}');
	const first = await sendTo(mine.url, '{"mine":1}');
	await sendTo(theirs.url, '{"theirs":2}');
	const second = await sendTo(mine.url, '{"mine":2}');
	await vi.waitFor(() => expect(idsOf(heard)).toEqual([first, second]), soon);
	expect(heard.events[0]).toMatchObject({
		kind: "json",
		bytes: 10,
		state: "accepted",
	});
	expect(JSON.stringify(heard.events)).not.toContain("mine");
});

test("with bodies, it shows their beginning", async () => {
	const { url, route } = await newSource();
	const heard = await follow(route, { withBody: true });
	await sendTo(url, '{"mine":1}');
	await sendTo(url, JSON.stringify("ä".repeat(10_000)));
	await vi.waitFor(() => expect(heard.events).toHaveLength(2), soon);
	expect(heard.events[0]).toMatchObject({ body: '{"mine":1}' });
	expect(heard.events[1]).toMatchObject({
		body: `"${"ä".repeat(4_095)}`,
		isBodyCut: true,
	});
});

test("who names another account's Source sees nothing", async () => {
	const victim = await newSource({ account: "acme" });
	const heard = await follow({ ...victim.route, account: "thief" });
	const honest = await follow(victim.route);
	await sendTo(victim.url, '{"mine":1}');
	await vi.waitFor(() => expect(honest.events).toHaveLength(1), soon);
	await sendTo(victim.url, '{"mine":2}');
	await vi.waitFor(() => expect(honest.events).toHaveLength(2), soon);
	expect(heard.events).toEqual([]);
});

test("a tail goes on behind the event that its client saw last, without a gap or a repeat", async () => {
	const { url, route } = await newSource();
	const before = await follow(route);
	const sent = [await sendTo(url, "1"), await sendTo(url, "2")];
	await vi.waitFor(() => expect(idsOf(before)).toEqual(sent), soon);
	await before.stop();
	for (const body of ["3", "4", "5"]) sent.push(await sendTo(url, body));
	const heard = await follow(route, { after: before.places[0]! });
	sent.push(await sendTo(url, "6"));
	await vi.waitFor(() => expect(idsOf(heard)).toEqual(sent.slice(1)), soon);
	expect(heard.leftOut).toEqual([]);
});

test("of a flood it shows what a person can read, and says how many it left out", async () => {
	const { url, route } = await newSource();
	const heard = await follow(route);
	const count = 600;
	for (let i = 0; i < count / 60; i++)
		await Promise.all(Array.from({ length: 60 }, () => sendTo(url, "1")));
	await vi.waitFor(() => {
		const leftOut = heard.leftOut.reduce<number>((a, b) => a + (b ?? 0), 0);
		expect(heard.events.length + leftOut).toBe(count);
	}, soon);
});

test("without an archive it says so, and goes on with the next one where it was", async () => {
	const { url, route } = await newSource();
	const heard = await follow(route);
	const sent = [await sendTo(url, "1")];
	await vi.waitFor(() => expect(idsOf(heard)).toEqual(sent), soon);
	tails.close();
	await vi.waitFor(() => expect(heard.isThere).toEqual([true, false]), soon);
	sent.push(await sendTo(url, "2"));
	tails = new ShardTails({
		connection: archive,
		shard: 0,
		held: new FairRoom(maxHeldBytes),
		log,
	});
	sent.push(await sendTo(url, "3"));
	await vi.waitFor(() => expect(idsOf(heard)).toEqual(sent), soon);
	expect(heard.isThere).toEqual([true, false, true]);
});

test("an account has a bounded number of tails, and another one has its own", async () => {
	const mine = await newSource({ account: "many" });
	const theirs = await newSource({ account: "few" });
	for (let i = 0; i < 10; i++) await follow(mine.route);
	const said: unknown[] = [];
	const over = new AbortController();
	const { account, sourceKey } = mine.route;
	const refused = followArchive(
		() => api,
		{ account, sourceKey, shard: 0, withBody: false },
		{
			onEvents: () => undefined,
			onLeftOut: () => undefined,
			onArchive: (...archive) => said.push(archive),
		},
		over.signal,
	);
	await vi.waitFor(() => expect(said).toEqual([[false, "TooManyTails"]]), soon);
	over.abort();
	await refused;
	await follow(theirs.route);
});

test("nothing is read for a tail that has ended", async () => {
	const { route } = await newSource();
	const heard = await follow(route);
	expect(tails.size).toBeGreaterThan(0);
	await heard.stop();
	await vi.waitFor(() => expect(tails.size).toBe(0), soon);
});
