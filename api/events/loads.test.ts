import { expect, test } from "vitest";
import type { Pipeline, Run } from "../../crds/generated/types.ts";
import { loadOf } from "./loads.ts";

const sourceKey = "5a".repeat(16);
const event = {
	time: "2026-03-01T12:00:00.000Z",
	storedTime: "2026-03-01T12:00:01.000Z",
	sourceKey,
	state: "accepted",
} as const;
const layout = { sourceKey, table: "orders", strategy: "Incremental" };

function pipeline(status: object = {}, dateRange: object = { end: "Today" }) {
	return {
		metadata: { name: "orders" },
		spec: { dateRange, table: {} },
		status,
	} as unknown as Pipeline;
}

function run(name: string, snapshotTime: string, more: object = {}) {
	return {
		metadata: { name },
		spec: { pipelineRef: { name: "orders" } },
		status: {
			phase: "Succeeded",
			snapshotTime,
			completionTime: `${snapshotTime.slice(0, -1)}9Z`,
			dates: { start: "2026-02-28", end: "2026-03-01" },
			layout,
			...more,
		},
	} as unknown as Run;
}

const early = run("early", "2026-03-01T12:00:00.500Z");
const first = run("first", "2026-03-01T12:05:00.000Z");
const last = run("last", "2026-03-02T00:05:00.000Z");
const loaded = { pipeline: "orders", table: "orders", state: "Loaded" };
const success = {
	lastSuccess: { snapshotTime: "2026-03-03T00:00:00.000Z", layout },
};

test.each<[string, Run[], object, object]>([
	["no run", [], {}, { state: "Waiting" }],
	["a run whose snapshot is older", [early], {}, { state: "Waiting" }],
	[
		"two runs that have it",
		[last, early, first],
		{},
		{ ...loaded, partition: "2026-03-01", run: "last", firstRun: "first" },
	],
	[
		"a run of other dates",
		[
			run("other", "2026-03-02T00:00:00.000Z", {
				dates: { start: "2026-03-02", end: "2026-03-02" },
			}),
		],
		{},
		{ state: "Waiting" },
	],
	[
		"a run that failed",
		[run("failed", "2026-03-02T00:00:00.000Z", { phase: "Failed" })],
		{},
		{ state: "Waiting" },
	],
	[
		"a run of another source of that name",
		[
			run("other", "2026-03-02T00:00:00.000Z", {
				layout: { ...layout, sourceKey: "00" },
			}),
		],
		{},
		{ state: "Waiting" },
	],
	[
		"a run that is removed",
		[],
		success,
		{
			...loaded,
			partition: "2026-03-01",
			loadedBefore: "2026-03-03T00:00:00.000Z",
		},
	],
	[
		"a table without partitions",
		[
			run("full", "2026-03-02T00:00:00.000Z", {
				layout: { ...layout, strategy: "FullReload" },
			}),
		],
		{},
		{ ...loaded, run: "full" },
	],
])("%s", (_, runs, status, expected) => {
	const load = loadOf(event, pipeline(status), runs);
	expect(load).toMatchObject(expected);
	expect(load.partition).toBe((expected as { partition?: string }).partition);
});

test("a date that is none of the pipeline's is excluded", () => {
	const of = pipeline({}, { start: "2026-03-02", end: "Today" });
	expect(loadOf(event, of, [])).toMatchObject({ state: "Excluded" });
});

test("quarantine holds an event, unless a table of its own has it", () => {
	const held = { ...event, state: "quarantined" } as const;
	expect(loadOf(held, pipeline(success), [last])).toMatchObject({
		state: "Held",
	});
	const apart = run("apart", "2026-03-02T00:00:00.000Z", {
		layout: { ...layout, quarantine: true },
	});
	expect(loadOf(held, pipeline(), [apart])).toMatchObject({
		state: "Loaded",
		table: "quarantine_orders",
		run: "apart",
	});
});

test("a released event is loaded by a run after its release alone", () => {
	const released = {
		...event,
		state: "released",
		released: { time: "2026-03-01T18:00:00.000Z", object: "o" },
	} as const;
	expect(loadOf(released, pipeline(), [first])).toMatchObject({
		state: "Waiting",
	});
	expect(loadOf(released, pipeline(), [first, last])).toMatchObject({
		state: "Loaded",
		run: "last",
		firstRun: "last",
	});
});

test("a table of a filter has an event only if it matches", () => {
	const filter = "f".repeat(16);
	const filtered = run("filtered", "2026-03-02T00:00:00.000Z", {
		layout: { ...layout, filter },
	});
	expect(loadOf(event, pipeline(), [filtered])).toMatchObject({
		state: "Loaded",
		filtered: true,
	});
	const of = pipeline();
	of.spec.filter = { types: ["order"] };
	expect(loadOf(event, of, [])).toMatchObject({
		state: "Waiting",
		filtered: true,
	});
	// What the last Run loaded counts, and not what the next one will.
	expect(loadOf(event, of, [last])).not.toHaveProperty("filtered");
});

test("where each event type has a table, an event's is named without its type", () => {
	const typed = run("typed", "2026-03-02T00:00:00.000Z", {
		layout: { ...layout, eventTypes: "e".repeat(16) },
	});
	expect(loadOf(event, pipeline(), [typed]).table).toBe(`${layout.table}_*`);
});
