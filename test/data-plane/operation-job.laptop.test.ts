import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import pino from "pino";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { LogEnd, perform } from "../../ingest/job/process.ts";
import { performOperation } from "../../ingest/operation/operation.ts";
import { type JobResult, maxLogBytes } from "../../packages/contracts/job.ts";
import { maxReportBytes } from "../../packages/contracts/manifest.ts";
import type {
	OperationInput,
	OperationReport,
} from "../../packages/contracts/operation.ts";
import type { PlanDocument } from "../../packages/contracts/tracking-plan.ts";
import { startOfDate } from "../../packages/contracts/utc-date.ts";
import { signature } from "../support/doubles/object-server.ts";
import type { ObjectEvent } from "../support/examples/parquet-object.ts";
import { loadFixture } from "../support/fixtures/data-plane/load-fixture.ts";

/* `tidemill operation` between a manifest and its report: all that an Operation's Job sees. */

const date = "2026-03-01";

function eventsOf(...events: (Partial<ObjectEvent> & { body: string })[]) {
	return events.map((event, index) => ({
		event_id: `event-${index}-${randomUUID()}`,
		timestampMs: startOfDate(date) + index,
		...event,
	}));
}

const planOf = (plan: Partial<PlanDocument>): PlanDocument => ({
	version: 1,
	account: "shop",
	plan: "orders",
	eventType: { bodyPointer: "/type" },
	events: [],
	onUnplannedEvent: "Annotate",
	onViolation: "Annotate",
	onUnplannedProperty: "Annotate",
	...plan,
});

async function operate(
	work: OperationInput["work"],
	objects: {
		stored: ObjectEvent[][];
		quarantined?: ObjectEvent[][];
		released?: ObjectEvent[][];
	},
) {
	const fixture = await loadFixture();
	const { store, scratch } = fixture;
	const manifest = await fixture.manifest({ [date]: objects.stored });
	if (objects.quarantined) {
		const apart = await fixture.manifest({ [date]: objects.quarantined });
		const { rows, objects: named } = apart.dates[0]!;
		manifest.dates[0]!.quarantine = { rows, objects: named };
		if (objects.released) {
			const again = await fixture.manifest({ [date]: objects.released });
			const { objects: released } = again.dates[0]!;
			manifest.dates[0]!.quarantine.released = released;
		}
	}
	let report: string | undefined;
	manifest.report = { url: store.put("report", ""), headers: {} };
	store.disturb("report", (response) => {
		void text(response.req).then((body) => {
			report = body;
			response.end();
		});
	});
	const input: OperationInput = {
		version: 1,
		operation: {
			name: "o",
			uid: manifest.run,
			account: "shop",
			source: "shop",
		},
		work,
		manifestURL: store.put("manifest", JSON.stringify(manifest)),
	};
	const logEnd = new LogEnd();
	const log = pino({}, logEnd);
	const { signal } = new AbortController();
	let result: JobResult | undefined;
	const exitCode = await perform(
		"operation",
		{ log, logEnd, signal },
		(onResult) => {
			onResult(async (stored) => {
				result = stored;
			});
			return performOperation(input, {
				log,
				signal,
				scratch,
				warehouse: undefined,
				busyWaitMs: 0,
				onResult,
			});
		},
	);
	const said = logEnd.last(maxLogBytes);
	expect(said + JSON.stringify(result)).not.toContain(signature);
	if (report !== undefined)
		expect(Buffer.byteLength(report)).toBe(maxReportBytes);
	return {
		exitCode,
		result: result!,
		log: said,
		report:
			report === undefined
				? undefined
				: (JSON.parse(report) as OperationReport),
	};
}

const order = (type: string, id: unknown, more: object = {}) => ({
	body: JSON.stringify({ type, id, ...more }),
});

test("a dry run counts what the plan would have done with each stored event, in quarantine or not", async () => {
	const stored = [
		eventsOf(order("paid", 1), order("paid", 2, { note: "?" })),
		eventsOf(order("paid", "3"), order("paid", "4"), order("gone", 5)),
	];
	const quarantined = [eventsOf(order("paid", "6"), order("other", 7))];
	const plan = planOf({
		events: [
			{
				type: "paid",
				schema: {
					properties: {
						type: {},
						id: { type: "integer" },
					},
				},
			},
			{ type: "gone", schema: false },
		],
		onUnplannedEvent: "Reject",
		onViolation: "Quarantine",
	});
	const { exitCode, result, report, log } = await operate(
		{ type: "DryRun", plan },
		{ stored, quarantined },
	);
	expect(exitCode, log).toBe(0);
	expect(result).toMatchObject({ outcome: "Succeeded", rows: 7, objects: 3 });
	expect(report).toMatchObject({
		version: 1,
		type: "DryRun",
		events: 7,
		planned: 1,
		annotated: 1,
		quarantined: 4,
		rejected: 1,
		otherFindings: 0,
	});
	if (report?.type !== "DryRun") throw new Error();
	expect(report.findings[0]).toEqual({
		type: "paid",
		kind: "TypeMismatch",
		path: "/id",
		message: expect.any(String),
		events: 3,
		example: expect.stringMatching(/^event-/),
	});
	const kinds = report.findings.map(({ type, kind, events }) => [
		type,
		kind,
		events,
	]);
	expect(kinds).toContainEqual(["paid", "UnplannedProperty", 1]);
	expect(kinds).toContainEqual(["other", "UnplannedEvent", 1]);
});

test("an inspection lists what is in quarantine, and neither rows nor what was released", async () => {
	const kept = eventsOf(order("paid", "a"), order("paid", "b")).map(
		(event) => ({
			...event,
			violations: JSON.stringify({
				plan: "orders",
				version: "1f",
				type: "paid",
				violations: [
					{ kind: "TypeMismatch", path: "/id", message: "must be a number" },
				],
			}),
		}),
	);
	const { exitCode, report, log, result } = await operate(
		{ type: "Inspect", filter: { types: ["paid"] }, limit: 20 },
		{
			stored: [eventsOf(order("paid", 1))],
			quarantined: [kept],
			released: [[kept[1]!]],
		},
	);
	expect(exitCode, log).toBe(0);
	expect(result).toMatchObject({ outcome: "Succeeded", objects: 1 });
	expect(report).toEqual({
		version: 1,
		type: "Inspect",
		events: 1,
		page: [
			{
				eventID: kept[0]!.event_id,
				timestamp: "2026-03-01T00:00:00.000Z",
				type: "paid",
				plan: "orders",
				planVersion: "1f",
				violations: [
					{ kind: "TypeMismatch", path: "/id", message: "must be a number" },
				],
			},
		],
		hasMore: false,
	});
	const none = await operate(
		{ type: "Inspect", filter: {}, limit: 20 },
		{ stored: [eventsOf(order("paid", 1))] },
	);
	expect(none.report).toMatchObject({ events: 0, page: [], hasMore: false });
});

test("items of an array are one finding, and of many findings the most frequent are told", async () => {
	const plan = planOf({
		eventType: { constant: "order" },
		events: [
			{
				type: "order",
				schema: { properties: { items: { items: { type: "integer" } } } },
			},
		],
	});
	const body = JSON.stringify({ items: ["a", 1, "b"] });
	const names = Array.from({ length: 30 }, (_, index) => ({
		body: JSON.stringify({ [`name${index}`]: 1 }),
	}));
	const { report } = await operate(
		{ type: "DryRun", plan },
		{ stored: [eventsOf({ body }, { body }, ...names)] },
	);
	if (report?.type !== "DryRun") throw new Error();
	expect(report.findings).toHaveLength(20);
	expect(report.otherFindings).toBe(11);
	expect(report.findings[0]).toMatchObject({ path: "/items/*", events: 2 });
});

test("a plan that doesn't compile fails at once, with its place", async () => {
	const events = [{ type: "paid", schema: { type: "strin" } }];
	const { exitCode, result, report } = await operate(
		{ type: "DryRun", plan: planOf({ events }) },
		{ stored: [eventsOf(order("paid", 1))] },
	);
	expect(exitCode).toBe(65);
	expect(result).toMatchObject({ error: { code: "PlanInvalid" } });
	expect(JSON.stringify(result)).toContain("spec.events[0].schema");
	expect(report).toBeUndefined();
});

test("a type in a header that isn't stored is no type; one that a plan has recorded is", async () => {
	const plan = planOf({
		eventType: { header: "x-event" },
		events: [{ type: "paid" }],
	});
	const lacking = await operate(
		{ type: "DryRun", plan },
		{ stored: [eventsOf({ body: "1" })] },
	);
	expect(lacking.result).toMatchObject({ error: { code: "EventTypeUnknown" } });
	const { report } = await operate(
		{ type: "DryRun", plan },
		{
			stored: [
				eventsOf(
					{ body: "1", headers: { "x-event": "paid" } },
					{ body: "2", violations: '{"plan":"p","version":"v","type":"paid"}' },
					{ body: "3" },
				),
			],
		},
	);
	expect(report).toMatchObject({ events: 3, planned: 2, annotated: 1 });
});

test("a draft is a manifest, by which the same events are as planned", async () => {
	const stored = [
		eventsOf(
			order("paid", 1, { at: "2026-03-01T10:00:00Z", tags: ["a"] }),
			order("paid", 2, { at: "2026-03-02T10:00:00Z", tags: [] }),
			order("shipped", "x"),
		),
	];
	const eventType = { bodyPointer: "/type" };
	const { report } = await operate({ type: "Draft", eventType }, { stored });
	if (report?.type !== "Draft") throw new Error();
	expect(report).toMatchObject({ events: 3, eventTypes: 2 });
	const manifest = parse(report.trackingPlan);
	expect(manifest).toMatchObject({
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "TrackingPlan",
		metadata: { name: "shop" },
		spec: { eventType },
	});
	expect(manifest.spec.events[0]).toEqual({
		type: "paid",
		schema: {
			type: "object",
			required: ["type", "id", "at", "tags"],
			properties: {
				type: { type: "string" },
				id: { type: "integer" },
				at: { type: "string", format: "date-time" },
				tags: { type: "array", items: { type: "string" } },
			},
		},
	});
	const again = await operate(
		{ type: "DryRun", plan: planOf(manifest.spec) },
		{ stored },
	);
	expect(again.report).toMatchObject({ events: 3, planned: 3 });
});
