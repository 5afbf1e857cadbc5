import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { stringify } from "uuid";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { FrameEvent } from "../../ingest/wire/frame-event.ts";
import type {
	EventSchema,
	PlanDocument,
	PlanPolicy,
	RoutePlan,
	ValidationRecord,
	ViolationKind,
} from "../../packages/contracts/tracking-plan.ts";
import { rawNumber } from "../../packages/json/json-reader.ts";
import {
	announceArchive,
	metric,
	type ReceiveFixture,
	readFrames,
	reasonNotReady,
	startReceiveFixture,
	startReceiver,
	untilReady,
} from "../support/fixtures/data-plane/receiver.ts";
import { type HttpAnswer, sendJSON } from "../support/senders/http-client.ts";

const wait = { timeout: 120_000, interval: 20 };
let fixture: ReceiveFixture;

beforeAll(async () => {
	fixture = await startReceiveFixture();
	await announceArchive(fixture.admin, 3);
});
afterAll(() => fixture?.stop());

function orders(change: Partial<PlanDocument> = {}): PlanDocument {
	return {
		version: 1,
		account: "shop",
		plan: `orders-${randomBytes(4).toString("hex")}`,
		eventType: { bodyPointer: "/type" },
		common: { required: ["type"] },
		events: [
			{
				type: "order",
				schema: {
					properties: {
						type: {},
						id: { type: "integer", maximum: 1_000 },
						state: { enum: ["new", "paid"] },
						email: { format: "email" },
						lines: { uniqueItems: true },
					},
					required: ["id"],
				},
			},
		],
		onUnplannedEvent: "Annotate",
		onViolation: "Annotate",
		onUnplannedProperty: "Annotate",
		...change,
	};
}

const post = (path: string, body: unknown, headers = {}) =>
	sendJSON(fixture.receiver.url + path, JSON.stringify(body), { headers });

/** A Source with this plan, whose plan validates. */
async function sourceWith(plan: PlanDocument): Promise<string> {
	const named = await fixture.routes.putPlan(plan);
	return (await add(named)).path;
}

async function add(plan: RoutePlan, change = {}) {
	const added = await fixture.routes.add({ plan, ...change });
	if (plan.version !== undefined)
		await vi.waitFor(async () => {
			const { json } = await post(added.path, { type: "order", id: 1 });
			expect(json.error?.code ?? "").not.toMatch(/Unavailable|UnknownURL/);
		}, wait);
	return added;
}

/** The stored event with this id. */
async function storedAs(
	eventId: string,
): Promise<{ event: FrameEvent; validation: ValidationRecord; body: string }> {
	const frames = await readFrames(fixture.admin, fixture.stream);
	const event = frames
		.flatMap(({ events }) => events)
		.find(({ id }) => stringify(id) === eventId)!;
	const body = Buffer.from(event.body).toString();
	return { event, validation: JSON.parse(event.violations), body };
}

const deviations: [ViolationKind, unknown, PlanPolicyField][] = [
	["UnplannedEvent", { type: "refund" }, "onUnplannedEvent"],
	["UnplannedProperty", { type: "order", id: 1, x: 2 }, "onUnplannedProperty"],
	["RequiredMissing", { type: "order" }, "onViolation"],
	["TypeMismatch", { type: "order", id: "1" }, "onViolation"],
	["ValueMismatch", { type: "order", id: 1, state: "gone" }, "onViolation"],
	["FormatMismatch", { type: "order", id: 1, email: "@" }, "onViolation"],
	["OutOfRange", { type: "order", id: 1_001 }, "onViolation"],
	["SchemaMismatch", { type: "order", id: 1, lines: [1, 1] }, "onViolation"],
	[
		"NumberTooLarge",
		{ type: "order", id: 1, lines: [rawNumber("1e401")] },
		"onViolation",
	],
	["TooComplex", { type: "order", id: 1, deep: deep(300) }, "onViolation"],
];

type PlanPolicyField =
	| "onUnplannedEvent"
	| "onUnplannedProperty"
	| "onViolation";

function deep(levels: number): unknown {
	return levels === 0 ? 1 : { a: deep(levels - 1) };
}

const counted = (name: string, label: string) =>
	metric(fixture.receiver, `tidemill_receive_${name}{${label}}`).then(
		(value) => value || 0,
	);

test.each<PlanPolicy>(["Allow", "Annotate", "Quarantine", "Reject"])(
	"%s: each kind of deviation has its answer, its frame and its count",
	async (policy) => {
		const path = await sourceWith(
			orders({
				onUnplannedEvent: policy,
				onViolation: policy,
				onUnplannedProperty: policy,
			}),
		);
		const outcome =
			policy === "Reject" || policy === "Quarantine" ? policy : "Accept";
		for (const [kind, body] of deviations) {
			const counts = async () => [
				await counted("judged_events_total", `outcome="${outcome}"`),
				await counted("deviating_events_total", `kind="${kind}"`),
			];
			const before = await counts();
			const answer = await post(path, body);
			const after = await counts();
			const isTold = policy !== "Allow";
			expect([kind, after]).toEqual([
				kind,
				[before[0]! + 1, before[1]! + (isTold ? 1 : 0)],
			]);
			if (policy === "Reject") {
				expect(answer).toMatchObject({
					status: 400,
					json: {
						is_success: false,
						error: {
							code: "TrackingPlanViolation",
							details: [{ kind, path: expect.any(String) }],
						},
					},
				});
				continue;
			}
			expect([kind, answer.status]).toEqual([kind, 200]);
			const stored = await storedAs(answer.json.event_id);
			expect(stored.body).toBe(JSON.stringify(body));
			expect(stored.event.quarantined).toBe(
				policy === "Quarantine" ? true : undefined,
			);
			const kinds = stored.validation.violations?.map(({ kind }) => kind);
			expect(kinds).toEqual(isTold ? [kind] : undefined);
		}
	},
);

test("an event that is as planned records which version of the plan validated it", async () => {
	const plan = orders();
	const named = await fixture.routes.putPlan(plan);
	const { path } = await add(named);
	const answer = await post(path, { type: "order", id: 1 });
	const { validation, event } = await storedAs(answer.json.event_id);
	expect(validation).toEqual({
		plan: plan.plan,
		version: named.version,
		type: "order",
	});
	expect(event.quarantined).toBeUndefined();
});

test("the type is read from a header; a form is validated as the JSON that is stored of it", async () => {
	const path = await sourceWith(
		orders({
			eventType: { header: "x-event" },
			common: true,
			events: [{ type: "order", schema: { required: ["id"] } }],
			onUnplannedEvent: "Reject",
			onViolation: "Reject",
			onUnplannedProperty: "Allow",
		}),
	);
	const send = async (body: string, headers: Record<string, string>) =>
		(await sendJSON(fixture.receiver.url + path, body, { headers })).status;
	expect(await send('{"id":1}', { "x-event": "order" })).toBe(200);
	expect(await send('{"id":1}', { "x-event": "other" })).toBe(400);
	expect(await send('{"id":1}', {})).toBe(400);
	const form = { "content-type": "application/x-www-form-urlencoded" };
	expect(await send("id=1", { ...form, "x-event": "order" })).toBe(200);
	expect(await send("ip=1", { ...form, "x-event": "order" })).toBe(400);
});

test("properties that are omitted stay in the stored bytes; the event names them", async () => {
	const path = await sourceWith(orders({ onUnplannedProperty: "Omit" }));
	const body = { type: "order", id: 1, secret: 2 };
	const answer = await post(path, body);
	const stored = await storedAs(answer.json.event_id);
	expect(stored.body).toBe(JSON.stringify(body));
	expect(stored.validation.omit).toEqual(["/secret"]);
});

test("the violations of one event are bounded, in the answer and in the frame", async () => {
	const lines = Array.from({ length: 1_000 }, (_, n) => ({
		["x".repeat(n)]: n,
	}));
	const change = {
		common: { properties: { lines: { items: { type: "string" } } } },
		onUnplannedProperty: "Allow",
	} as const;
	for (const onViolation of ["Reject", "Quarantine"] as const) {
		const path = await sourceWith(orders({ ...change, onViolation }));
		const answer = await post(path, { type: "order", id: 1, lines });
		expect(JSON.stringify(answer.json).length).toBeLessThan(20_000);
		if (onViolation === "Reject")
			expect(answer.json.error.details).toHaveLength(20);
		else {
			const { event } = await storedAs(answer.json.event_id);
			expect(event.violations.length).toBeLessThan(16_384);
		}
	}
});

test("a rejected event takes no idempotency key: corrected, it is stored under the same one", async () => {
	const plan = await fixture.routes.putPlan(orders({ onViolation: "Reject" }));
	const { path } = await add(plan, {
		idempotency: { key: { header: "x-key" }, windowSeconds: 60 },
	});
	const key = { "x-key": "1" };
	expect((await post(path, { type: "order" }, key)).status).toBe(400);
	// There is no archive, so no bucket of keys: an event that asks for one isn't stored.
	const asks: HttpAnswer = await post(path, { type: "order", id: 1 }, key);
	expect(asks.json.error.code).toBe("StorageUnavailable");
});

test("a Source whose plan was never compiled is 503, and others are served", async () => {
	const { path } = await add({ name: "never" });
	const other = (await fixture.routes.add()).path;
	await vi.waitFor(async () => {
		expect((await post(other, {})).status).toBe(200);
		expect(await post(path, {})).toMatchObject({
			status: 503,
			headers: { "retry-after": expect.stringMatching(/^\d+$/) },
			json: { error: { code: "TrackingPlanUnavailable" } },
		});
	}, wait);
});

test("a new version validates in place of the old one, with no event refused in between, and after a restart", async () => {
	const plan = orders({ onUnplannedProperty: "Reject" });
	const old = await fixture.routes.putPlan(plan);
	const { path, route } = await add(old);
	const body = { type: "order", id: 1, note: "x" };
	expect((await post(path, body)).status).toBe(400);
	const edited = {
		...plan,
		events: [
			{ type: "order", schema: { properties: { type: {}, id: {}, note: {} } } },
		],
	};
	const version = await fixture.routes.putPlan(edited);
	await fixture.routes.put({ ...route, plan: version });
	await fixture.routes.removePlan("shop", old);
	const seen = new Set<number>();
	await vi.waitFor(async () => {
		const { status } = await post(path, body);
		seen.add(status);
		expect(status).toBe(200);
	}, wait);
	expect([...seen]).toEqual([400, 200].filter((each) => seen.has(each)));

	await fixture.receiver.kill("SIGTERM");
	await fixture.receiver.start();
	await untilReady(fixture.receiver);
	// Ready means that the plans are compiled.
	expect((await post(path, body)).status).toBe(200);
	expect(await reasonNotReady(fixture.receiver)).toBeUndefined();
});

test("under a flood of events, versions that replace each other leave none without a verdict", async () => {
	const version = (edit: number) => ({
		...plan,
		common: { properties: { edit: { const: edit } } },
	});
	const plan = orders({ onViolation: "Reject", onUnplannedProperty: "Allow" });
	let old = await fixture.routes.putPlan(version(0));
	const { path, route } = await add(old);
	const statuses = new Set<number>();
	const flood = new AbortController();
	const senders = Array.from({ length: 64 }, async () => {
		while (!flood.signal.aborted)
			statuses.add((await post(path, { type: "order", id: 1 })).status);
	});
	for (let edit = 1; edit <= 20; edit++) {
		const next = await fixture.routes.putPlan(version(edit));
		await fixture.routes.put({ ...route, plan: next });
		await fixture.routes.removePlan("shop", old);
		old = next;
		await vi.waitFor(async () => {
			const { status } = await post(path, { type: "order", id: 1, edit });
			expect(status).toBe(200);
		}, wait);
	}
	flood.abort();
	await Promise.all(senders);
	expect([...statuses]).toEqual([200]);
});

test("each receive process validates by a new version, and none goes back to the old one", async () => {
	const second = await startReceiver(fixture.nats);
	try {
		await untilReady(second);
		const plan = orders({ onUnplannedProperty: "Reject" });
		const old = await fixture.routes.putPlan(plan);
		const { path, route } = await add(old);
		const body = JSON.stringify({ type: "order", id: 1, note: "x" });
		const receivers = [fixture.receiver, second];
		const ask = (version: string) =>
			Promise.all(
				receivers.map(async ({ url }) => {
					const { status, json } = await sendJSON(url + path, body);
					if (status !== 200) return { status };
					const { validation } = await storedAs(json.event_id);
					return { status, isNew: validation.version === version };
				}),
			);
		await vi.waitFor(
			async () =>
				expect(await ask("")).toEqual([{ status: 400 }, { status: 400 }]),
			wait,
		);
		const version = await fixture.routes.putPlan({
			...plan,
			onUnplannedProperty: "Annotate",
		});
		await fixture.routes.put({ ...route, plan: version });
		// The operator leaves the old one until no route names it.
		const seen = receivers.map(() => [] as object[]);
		await vi.waitFor(async () => {
			const answers = await ask(version.version!);
			answers.forEach((answer, index) => void seen[index]!.push(answer));
			const validated = { status: 200, isNew: true };
			expect(answers).toEqual([validated, validated]);
		}, wait);
		for (const answers of seen) {
			const first = answers.findIndex((each) => "isNew" in each);
			expect(answers.slice(0, first)).toEqual(
				answers.slice(0, first).map(() => ({ status: 400 })),
			);
			expect(answers.slice(first)).toEqual(
				answers.slice(first).map(() => ({ status: 200, isNew: true })),
			);
		}
	} finally {
		await second.stop();
	}
});

test("while an archive can't read frames of quarantined events, they are refused, and all others are stored", async () => {
	const path = await sourceWith(orders({ onViolation: "Quarantine" }));
	const quarantined = () => post(path, { type: "order" });
	expect((await quarantined()).status).toBe(200);
	await announceArchive(fixture.admin, 2);
	await vi.waitFor(
		async () =>
			expect(await quarantined()).toMatchObject({
				status: 503,
				json: { error: { code: "QuarantineUnavailable" } },
			}),
		wait,
	);
	expect((await post(path, { type: "order", id: 1 })).status).toBe(200);
	await announceArchive(fixture.admin, 3);
	await vi.waitFor(
		async () => expect((await quarantined()).status).toBe(200),
		wait,
	);
});

interface Group {
	schema: EventSchema & object;
	tests: { data: unknown; valid: boolean }[];
}

const keywords = "type required enum oneOf ref items properties pattern";

test.each(["draft2020-12", "draft2019-09", "draft7"])(
	"cases of the official suite of %s are validated as it says: post, answer and frame",
	async (draft) => {
		const path = `../support/corpus/json-schema/${draft}.json`;
		const suite = JSON.parse(
			readFileSync(new URL(path, import.meta.url), "utf8"),
		) as Record<string, Group[]>;
		const groups = keywords.split(" ").map((keyword) => suite[keyword]![0]!);
		const $schema =
			draft === "draft7"
				? "http://json-schema.org/draft-07/schema#"
				: `https://json-schema.org/draft/${draft.slice("draft".length)}/schema`;
		const plan = orders({
			eventType: { header: "x-group" },
			common: true,
			events: groups.map(({ schema }, index) => ({
				type: `${index}`,
				schema: { $schema, ...schema },
			})),
			onUnplannedEvent: "Reject",
			onViolation: "Quarantine",
			onUnplannedProperty: "Allow",
		});
		const source = await sourceWith(plan);
		const ids: [id: string, valid: boolean][] = [];
		for (const [index, { tests }] of groups.entries())
			for (const { data, valid } of tests) {
				const answer = await post(source, data, { "x-group": `${index}` });
				ids.push([answer.json.event_id, valid]);
			}
		expect(ids.length).toBeGreaterThan(25);
		const frames = await readFrames(fixture.admin, fixture.stream);
		const quarantined = new Map(
			frames
				.flatMap(({ events }) => events)
				.map(({ id, quarantined = false }) => [stringify(id), quarantined]),
		);
		expect(ids.map(([id]) => quarantined.get(id))).toEqual(
			ids.map(([, valid]) => !valid),
		);
	},
);

test("numbers of an event count as they are written, against those of a plan as they are written", async () => {
	const path = await sourceWith(
		orders({
			events: [
				{
					type: "order",
					schema: {
						properties: {
							id: { maximum: rawNumber("9007199254740993") },
							price: { multipleOf: 0.01 },
						},
					},
				},
			],
			onViolation: "Reject",
		}),
	);
	const answers = async (id: string, price: string) =>
		(
			await post(path, {
				type: "order",
				id: rawNumber(id),
				price: rawNumber(price),
			})
		).status;
	expect(await answers("9007199254740993", "19.99")).toBe(200);
	expect(await answers("9007199254740994", "19.99")).toBe(400);
	expect(await answers("9007199254740993", "19.9900000000000000001")).toBe(400);
});

test("of a member that stands twice the last is validated, and that it does is a violation", async () => {
	const send = async (plan: Partial<PlanDocument>) => {
		const path = await sourceWith(orders(plan));
		const body = '{"type":"evil","id":0,"id":1,"typ\\u0065":"order"}';
		return sendJSON(fixture.receiver.url + path, body);
	};
	const refused = await send({ onViolation: "Reject" });
	expect(refused.status).toBe(400);
	expect(refused.json.error.details).toMatchObject([
		{ kind: "DuplicateMember", path: "/id" },
		{ kind: "DuplicateMember", path: "/type" },
	]);
	const { status, json } = await send({ onViolation: "Annotate" });
	expect(status).toBe(200);
	const { validation } = await storedAs(json.event_id);
	expect(validation).toMatchObject({
		type: "order",
		violations: [{ kind: "DuplicateMember" }, { kind: "DuplicateMember" }],
	});
	expect((await send({ onViolation: "Allow" })).status).toBe(200);
});
