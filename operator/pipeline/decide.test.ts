import { describe, expect, test } from "vitest";
import type { PipelineSpec } from "../../crds/generated/types.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import {
	created,
	ended,
	hourly,
	nowMs,
	scheduled,
	stateOf,
	statusAfter,
} from "../../test/support/examples/pipeline-examples.ts";
import {
	bigQueryOf,
	destinationOf,
	layout,
	pipelineOf,
	runOf,
	sourceOf,
} from "../../test/support/examples/resource-examples.ts";
import { decide } from "./decide.ts";
import type { PipelineState } from "./state.ts";

const now = nowMs;

test("a Pipeline that can run says so once", () => {
	const status = statusAfter(stateOf());
	expect(status).toMatchObject({
		observedGeneration: 1,
		phase: "Ready",
		strategy: "Incremental",
		tableName: "load_orders",
	});
	expect(findCondition(status.conditions, "Ready")?.status).toBe("True");
	const written = stateOf({ pipeline: pipelineOf({}, { status }) });
	expect(decide(written, now + 60_000)).toEqual([]);
});

test("the status has the tables of the types that Runs have found", () => {
	const types = [{ type: "a/b", table: "load_orders_a_b" }];
	const eventTypeTables = { table: "load_orders", types };
	expect(statusAfter(stateOf({ eventTypeTables }))).toMatchObject({
		eventTypeTables,
	});
});

test("a Pipeline that can't run says why, once", () => {
	const state = stateOf({ source: undefined });
	const actions = decide(state, now);
	const status = statusAfter(state);
	expect(status.phase).toBe("Error");
	expect(findCondition(status.conditions, "Ready")).toMatchObject({
		status: "False",
		reason: "SourceNotFound",
	});
	expect(actions).toContainEqual(
		expect.objectContaining({
			type: "recordKubeEvent",
			severity: "Warning",
			reason: "SourceNotFound",
		}),
	);
	const again = { ...state, pipeline: pipelineOf({}, { status }) };
	expect(decide(again, now)).toEqual([]);
});

const seconds = (count: number) => new Date(now - count * 1000).toISOString();
const undecided = destinationOf("files", "events.duckdb", {});

test.each<[string, Partial<PipelineState>, string, string, string]>([
	[
		"a Source that may still arrive",
		{ pipeline: pipelineOf({}, { createdAt: seconds(5) }), source: undefined },
		"SourceNotFound",
		"Unknown",
		"Normal",
	],
	[
		"a Destination that may still arrive",
		{
			pipeline: pipelineOf({}, { createdAt: seconds(29) }),
			destination: undefined,
		},
		"DestinationNotFound",
		"Unknown",
		"Normal",
	],
	[
		"a Source that does not arrive",
		{ pipeline: pipelineOf({}, { createdAt: seconds(30) }), source: undefined },
		"SourceNotFound",
		"False",
		"Warning",
	],
	[
		"a Destination that is being checked, however long",
		{ destination: undecided },
		"DestinationNotReady",
		"Unknown",
		"Normal",
	],
	[
		"a Source that has no key yet",
		{ source: sourceOf("orders", {}) },
		"SourceNotReady",
		"Unknown",
		"Normal",
	],
])("a Pipeline reports %s", (_, changes, ...expected) => {
	const state = stateOf(changes);
	const status = statusAfter(state);
	const ready = findCondition(status.conditions, "Ready");
	const event = decide(state, now).find(
		({ type }) => type === "recordKubeEvent",
	);
	expect([
		ready?.reason,
		ready?.status,
		event?.type === "recordKubeEvent" && event.severity,
	]).toEqual(expected);
	expect(status.phase).toBe(ready?.status === "False" ? "Error" : "Pending");
});

test("a reference that is missing after half a minute causes one warning", () => {
	const pipeline = pipelineOf({}, { createdAt: seconds(5) });
	const state = stateOf({ pipeline, source: undefined });
	expect(decide(state, now)).toContainEqual({
		type: "requeueAfter",
		afterMs: 25_000,
	});
	const later = { ...pipeline, status: statusAfter(state) };
	const actions = decide({ ...state, pipeline: later }, now + 25_000);
	expect(actions).toContainEqual(
		expect.objectContaining({ type: "recordKubeEvent", severity: "Warning" }),
	);
	const status = statusAfter({ ...state, pipeline: later }, now + 25_000);
	const told = { ...pipeline, status };
	expect(decide({ ...state, pipeline: told }, now + 60_000)).toEqual([]);
});

test("after the grace, a schedule still goes on while a reference is missing", () => {
	const pipeline = pipelineOf(
		{ schedule: hourly },
		{ createdAt: seconds(3_600) },
	);
	const state = stateOf({ pipeline, source: undefined });
	expect(decide(state, Date.parse("2026-03-10T12:59:00Z"))).toContainEqual({
		type: "requeueAfter",
		afterMs: 60_000,
	});
});

test("a new Pipeline that can run isn't looked at again", () => {
	const pipeline = pipelineOf({}, { createdAt: seconds(5) });
	const status = statusAfter(stateOf({ pipeline }));
	const told = { ...pipeline, status };
	expect(decide(stateOf({ pipeline: told }), now)).toEqual([]);
});

describe("while a new Destination is being checked", () => {
	const checked = (since: number, reason = "Checking") =>
		destinationOf("files", "events.duckdb", {
			observedGeneration: 1,
			conditions: [
				{
					type: "Ready",
					status: "Unknown",
					reason,
					message: "",
					lastTransitionTime: seconds(since),
				},
			],
		});

	test.each(["Checking", "Queued"])(
		"a new Pipeline waits four seconds for the verdict before it says that it waits: %s",
		(reason) => {
			const waited = (since: number) =>
				stateOf({ destination: checked(since, reason) });
			expect(decide(waited(3), now)).toEqual([
				{ type: "requeueAfter", afterMs: 1_000 },
			]);
			expect(statusAfter(waited(4)).phase).toBe("Pending");
		},
	);

	test("a clock that is behind holds up no status", () => {
		const status = statusAfter(stateOf({ destination: checked(-4) }));
		expect(status.phase).toBe("Pending");
	});

	test("a Pipeline that has a status says at once that it waits", () => {
		const pipeline = pipelineOf({}, { status: statusAfter(stateOf()) });
		const status = statusAfter(stateOf({ pipeline, destination: checked(1) }));
		expect(status.phase).toBe("Pending");
	});

	test.each(["12:59:58", "12:59:10"])(
		"a scheduled time that comes soon after %s is not forgotten",
		(time) => {
			const at = Date.parse(`2026-03-10T${time}Z`);
			const pipeline = pipelineOf({ schedule: hourly });
			const destination = checked((at - now) / -1000);
			const status = statusAfter(stateOf({ pipeline, destination }), at);
			const written = pipelineOf({ schedule: hourly }, { status });
			const verified = stateOf({ pipeline: written });
			expect(
				decide(verified, Date.parse("2026-03-10T13:00:03Z")),
			).toContainEqual(expect.objectContaining({ type: "createRun" }));
		},
	);

	test("the status says at once that a schedule is invalid", () => {
		const schedule = { type: "Cron", cron: "hourly" } as const;
		const pipeline = pipelineOf({ schedule });
		const state = stateOf({ pipeline, destination: checked(1) });
		expect(statusAfter(state).phase).toBe("Error");
	});
});

test("a new Pipeline with an invalid schedule is in error at once", () => {
	const schedule = { type: "Cron", cron: "hourly" } as const;
	const createdAt = seconds(5);
	const pipeline = pipelineOf({ schedule }, { createdAt });
	const actions = decide(stateOf({ pipeline }), now);
	expect(actions).toMatchObject([
		{
			type: "writeStatus",
			status: {
				phase: "Error",
				conditions: [{ status: "False", reason: "InvalidSchedule" }],
			},
		},
		{ type: "recordKubeEvent", severity: "Warning" },
	]);
});

test.each([
	["Running", "Running"],
	["Pending", "Error"],
] as const)(
	"while a Run is %s, a Pipeline that can't run is %s",
	(phase, expected) => {
		const runs = [runOf("r", { phase })];
		expect(statusAfter(stateOf({ source: undefined, runs })).phase).toBe(
			expected,
		);
	},
);

test("a new schedule catches up on nothing and shows its next slot", () => {
	const state = stateOf({ pipeline: pipelineOf({ schedule: hourly }) });
	expect(created(state)).toEqual([]);
	expect(statusAfter(state)).toMatchObject({
		nextRunTime: "2026-03-10T13:00:00Z",
		schedule: { since: "2026-03-10T12:34:56Z" },
	});
});

test.each([
	["2026-03-10T12:59:00Z", 60_000],
	// Before the slot, since the clock may change meanwhile.
	["2026-03-10T12:34:56Z", 300_000],
])("at %s a Pipeline is reconciled again in %d ms", (time, afterMs) => {
	const state = stateOf({ pipeline: pipelineOf({ schedule: hourly }) });
	expect(decide(state, Date.parse(time))).toContainEqual({
		type: "requeueAfter",
		afterMs,
	});
});

const noonName = `load-orders-${Date.parse("2026-03-10T12:00:00Z") / 60_000}`;
const early = "2026-03-10T03:00:00Z";

test("of several missed slots only the latest runs, once", () => {
	const state = stateOf({ pipeline: scheduled(early) });
	expect(created(state)).toEqual([noonName]);
	const status = statusAfter(state);
	expect(status).toMatchObject({
		lastScheduleTime: "2026-03-10T12:00:00Z",
		activeRun: noonName,
		phase: "Pending",
	});
	const pipeline = pipelineOf({ schedule: hourly }, { status });
	expect(created(stateOf({ pipeline, runs: [runOf(noonName)] }))).toEqual([]);
	// Its Run may be deleted before the next look.
	expect(created(stateOf({ pipeline }))).toEqual([]);
});

test.each<[string, Partial<PipelineState>]>([
	[
		"while a Run is active, the next slot waits",
		{ pipeline: scheduled(early), runs: [runOf("by-hand")] },
	],
	[
		"a Pipeline that can't run creates no Run",
		{ pipeline: scheduled(early), source: undefined },
	],
	[
		"a suspended Pipeline creates no Run",
		{ pipeline: scheduled(early, {}, { suspend: true }) },
	],
	[
		"a slot past its deadline is skipped",
		{ pipeline: scheduled(early, {}, { startingDeadlineSeconds: 60 }) },
	],
	[
		"an edited schedule catches up on nothing",
		{
			pipeline: pipelineOf(
				{ schedule: { ...hourly, interval: "2h" } },
				{ status: scheduled(early).status! },
			),
		},
	],
])("%s", (_, changes) => {
	expect(created(stateOf(changes))).toEqual([]);
});

test("a resumed Pipeline catches up on nothing", () => {
	const suspended = stateOf({
		pipeline: scheduled(early, {}, { suspend: true }),
	});
	const status = statusAfter(suspended);
	expect(status).toMatchObject({ phase: "Suspended" });
	expect(status.nextRunTime).toBeUndefined();
	const resumed = pipelineOf({ schedule: hourly }, { status });
	expect(created(stateOf({ pipeline: resumed }))).toEqual([]);
});

const facts = {
	snapshotTime: "2026-03-10T10:00:00Z",
	closedThrough: "2026-03-09",
	layout,
};

test("the status keeps the last Run and the last success after those Runs are deleted", () => {
	const runs = [
		ended("good", "Succeeded", "2026-03-10T10:00:05Z", { ...facts, rows: 7 }),
		ended("bad", "Failed", "2026-03-10T11:00:00Z", {
			error: { code: "DestinationBusy", message: "Busy.", retryable: true },
		}),
	];
	const status = statusAfter(stateOf({ runs }));
	expect(status).toMatchObject({
		lastRun: { name: "bad", phase: "Failed" },
		lastSuccess: facts,
	});
	expect(findCondition(status.conditions, "RunSucceeded")).toMatchObject({
		status: "False",
		reason: "Failed",
		message: 'Run "bad" failed (DestinationBusy): Busy.',
	});
	const pipeline = pipelineOf({}, { status });
	expect(decide(stateOf({ pipeline }), now)).toEqual([]);
});

test("a last Run that succeeded makes the condition true, and says how many rows it loaded", () => {
	const success = { ...facts, rows: 7 };
	const runs = [ended("good", "Succeeded", "2026-03-10T10:00:05Z", success)];
	const { conditions } = statusAfter(stateOf({ runs }));
	expect(findCondition(conditions, "RunSucceeded")).toMatchObject({
		status: "True",
		message: 'Run "good" loaded 7 rows.',
	});
});

test("a Run of chosen days does not count as the last success", () => {
	const dates = { start: "2026-03-01", end: "2026-03-01" };
	const runs = [
		ended("some", "Succeeded", "2026-03-10T10:00:00Z", facts, { dates }),
	];
	expect(statusAfter(stateOf({ runs })).lastSuccess).toBeUndefined();
});

test("ended Runs beyond the history are deleted, oldest first, after the status is written", () => {
	const runs = [1, 2, 3].flatMap((hour) => [
		ended(`s${hour}`, "Succeeded", `2026-03-10T0${hour}:00:00Z`, facts),
		ended(`f${hour}`, "Failed", `2026-03-10T0${hour}:30:00Z`),
	]);
	const pipeline = pipelineOf({
		runHistory: { succeeded: 2, failed: 1, days: 30 },
	});
	const actions = decide(stateOf({ pipeline, runs }), now);
	const removed = actions.flatMap((action) =>
		action.type === "deleteRun" ? [action.run.metadata.name] : [],
	);
	expect(removed).toEqual(["s1", "f2", "f1"]);
	expect(actions[0]?.type).toBe("writeStatus");
});

const incompatible = ended("incompatible", "Failed", "2026-03-10T11:00:00Z", {
	layout,
	error: {
		code: "TableIncompatible",
		message: "Column date is missing.",
		retryable: false,
	},
});

const refused = {
	layout,
	error: {
		code: "TableNotOurs",
		message: "It has rows that no Run marked.",
		retryable: false,
	},
};
const notOurs = ended("not-ours", "Failed", "2026-03-10T11:00:00Z", refused);

describe("a table that isn't the Pipeline's", () => {
	const found = stateOf({ pipeline: scheduled(early), runs: [notOurs] });
	const readyOf = (state: PipelineState) =>
		findCondition(statusAfter(state).conditions, "Ready");
	const adopting = (more: Partial<PipelineSpec["table"]> = {}) => ({
		table: { columns: [...layoutColumns()], onIncompatible: "Fail", ...more },
	});

	test("stops the schedule and stands in the status, also after its Run is deleted", () => {
		const told = { status: "False", reason: "TableNotOurs" };
		const words = { message: "It has rows that no Run marked." };
		expect(created(found)).toEqual([]);
		expect(readyOf(found)).toMatchObject({ ...told, ...words });
		expect(decide(found, now)).toContainEqual(
			expect.objectContaining({
				type: "recordKubeEvent",
				severity: "Warning",
				...{ reason: "TableNotOurs", ...words },
			}),
		);
		const later = stateOf({ pipeline: scheduled(early, statusAfter(found)) });
		expect(created(later)).toEqual([]);
		expect(readyOf(later)).toMatchObject({ ...told, ...words });
	});

	test.each<[string, Partial<PipelineSpec["table"]>, string[]]>([
		["goes on with another table name", { name: "fresh" }, [noonName]],
		["goes on with leave to adopt it", { adopt: true }, [noonName]],
		["waits with leave to rebuild it", { onIncompatible: "Rebuild" }, []],
		["waits without leave to adopt it", { adopt: false }, []],
	])("the schedule %s", (_, table, names) => {
		const spec = adopting(table) as Partial<PipelineSpec>;
		const pipeline = scheduled(early, statusAfter(found), spec);
		for (const runs of [[], [notOurs]])
			expect(created(stateOf({ pipeline, runs }))).toEqual(names);
	});

	test.each([
		["of another Source that the Pipeline loaded", {}, [noonName]],
		[
			"of another Source: not those of the same one",
			{ sourceKey: layout.sourceKey },
			[],
		],
		["of another Source: not for another table", { table: "old" }, []],
		[
			"of another Source: not for another warehouse",
			{ destination: "old" },
			[],
		],
	])(
		"with leave to rebuild it, the schedule goes on for its own rows %s",
		(_, changes, names) => {
			const other = { ...layout, sourceKey: "e".repeat(32), ...changes };
			const success = { ...facts, layout: other };
			const earlier = ended("e", "Succeeded", "2026-03-10T10:30:00Z", success);
			const runs = [earlier, notOurs];
			const waits = stateOf({ pipeline: scheduled(early), runs });
			expect(created(waits)).toEqual([]);
			const spec = adopting({ onIncompatible: "Rebuild" });
			const pipeline = scheduled(early, statusAfter(waits), spec as never);
			expect(created(stateOf({ pipeline, runs }))).toEqual(names);
		},
	);

	test("is adopted once: if somebody takes it later, it is refused until the field is set anew", () => {
		const spec = adopting({ adopt: true }) as Partial<PipelineSpec>;
		const success = ended(
			"adopted",
			"Succeeded",
			"2026-03-10T11:30:00Z",
			facts,
		);
		const allowed = scheduled(early, statusAfter(found), spec);
		const adopted = statusAfter(
			stateOf({ pipeline: allowed, runs: [success] }),
		);
		const { destination, table } = layout;
		expect(adopted.adoptedTable).toEqual({ destination, table });
		expect(readyOf(stateOf({ pipeline: allowed }))?.status).toBe("True");
		const again = ended("again", "Failed", "2026-03-10T11:40:00Z", refused);
		const taken = stateOf({
			pipeline: scheduled(early, adopted, spec),
			runs: [again, success],
		});
		expect(readyOf(taken)).toMatchObject({ reason: "TableNotOurs" });
		const without = scheduled(early, statusAfter(taken), adopting() as never);
		const reset = stateOf({ pipeline: without, runs: [again, success] });
		expect(statusAfter(reset)).not.toHaveProperty("adoptedTable");
		const anew = scheduled(early, statusAfter(reset), spec);
		expect(
			readyOf(stateOf({ pipeline: anew, runs: [again, success] }))?.status,
		).toBe("True");
	});
});

describe("a Pipeline whose Source has changed", () => {
	const ofOther = (changes: object = {}, more: object = {}) => ({
		...facts,
		...more,
		layout: { ...layout, sourceKey: "e".repeat(32), ...changes },
	});
	const stateWith = (
		lastSuccess: object,
		table: Partial<PipelineSpec["table"]> = {},
	) =>
		stateOf({
			pipeline: scheduled(
				early,
				{ lastSuccess } as never,
				{
					table: {
						columns: [...layoutColumns()],
						onIncompatible: "Fail",
						...table,
					},
				} as never,
			),
		});

	test("is refused before a Run finds the other's rows, with the ways out", () => {
		const state = stateWith(ofOther());
		expect(created(state)).toEqual([]);
		const ready = findCondition(statusAfter(state).conditions, "Ready");
		expect(ready).toMatchObject({
			status: "False",
			reason: "TableIncompatible",
		});
		for (const way of [
			"spec.sourceRef",
			"spec.table.name",
			"spec.table.onIncompatible: Rebuild",
			"start a Run",
		])
			expect(ready?.message).toContain(way);
	});

	test.each<[string, object, Partial<PipelineSpec["table"]>?]>([
		[
			"with leave to rebuild the table",
			ofOther(),
			{ onIncompatible: "Rebuild" },
		],
		["with leave to adopt it", ofOther(), { adopt: true }],
		["into another table", ofOther({ table: "old" })],
		["into another warehouse", ofOther({ destination: "old" })],
		["if no Run has put a row into it", ofOther({}, { empty: true })],
		["once a Run of the new Source has succeeded", facts],
	])("goes on %s", (_, lastSuccess, table) => {
		expect(created(stateWith(lastSuccess, table))).toEqual([noonName]);
	});
});

test("a range of dates whose events are gone stops the schedule", () => {
	const dateRange = { start: "2025-01-01", end: "2025-01-31" };
	const state = stateOf({ pipeline: scheduled(early, {}, { dateRange }) });
	expect(created(state)).toEqual([]);
	expect(findCondition(statusAfter(state).conditions, "Ready")).toMatchObject({
		status: "False",
		reason: "DatesNotRetained",
		message: expect.stringContaining("is 2025-01-01 to 2025-01-31"),
	});
	const { lastSuccess } = { lastSuccess: facts };
	const done = scheduled(early, { lastSuccess } as never, { dateRange });
	expect(created(stateOf({ pipeline: done }))).toEqual([noonName]);
});

test("a Pipeline whose range ends looks again within an hour, when its events may be gone", () => {
	const dateRange = { end: "2026-03-01" };
	const actions = decide(stateOf({ pipeline: pipelineOf({ dateRange }) }), now);
	expect(actions.at(-1)).toEqual({ type: "requeueAfter", afterMs: 3_600_000 });
});

test("an incompatible table stops the schedule", () => {
	const state = stateOf({ pipeline: scheduled(early), runs: [incompatible] });
	expect(created(state)).toEqual([]);
	expect(findCondition(statusAfter(state).conditions, "Ready")).toMatchObject({
		status: "False",
		reason: "TableIncompatible",
	});
});

test("an incompatible table stops the schedule even after its Run is deleted", () => {
	const found = stateOf({ pipeline: scheduled(early), runs: [incompatible] });
	const pipeline = scheduled(early, statusAfter(found));
	const state = stateOf({ pipeline });
	expect(created(state)).toEqual([]);
	expect(findCondition(statusAfter(state).conditions, "Ready")).toMatchObject({
		reason: "TableIncompatible",
		message: "Column date is missing.",
	});
});

test("an incompatible table stops the schedule until another Run succeeds", () => {
	const found = stateOf({ pipeline: scheduled(early), runs: [incompatible] });
	const pipeline = scheduled(early, statusAfter(found));
	const runs = [ended("by-hand", "Succeeded", "2026-03-10T12:00:00Z", facts)];
	expect(
		statusAfter(stateOf({ pipeline, runs })).incompatibility,
	).toBeUndefined();
	expect(created(stateOf({ pipeline, runs }))).toEqual([noonName]);
});

test.each([
	[
		"another table name",
		{ columns: layoutColumns(), onIncompatible: "Fail", name: "fresh" },
	],
	["leave to rebuild", { columns: layoutColumns(), onIncompatible: "Rebuild" }],
] as const)("%s lets it go on", (_, table) => {
	const spec = { table: { ...table, columns: [...table.columns] } };
	const pipeline = scheduled(early, {}, spec);
	expect(created(stateOf({ pipeline, runs: [incompatible] }))).toEqual([
		noonName,
	]);
});

function layoutColumns() {
	return ["EventID", "Timestamp", "Body", "Date"] as const;
}

test("a schedule that would exceed BigQuery's quota creates no Run and says so", () => {
	const pipeline = scheduled(
		"2026-03-10T00:00:00Z",
		{},
		{ overwritePeriodDays: 63 },
	);
	const actions = (destination = bigQueryOf()) =>
		decide(stateOf({ pipeline, destination }), now).map(({ type }) => type);
	expect(actions()).not.toContain("createRun");
	expect(actions(destinationOf())).toContain("createRun");
	const { conditions } = statusAfter(
		stateOf({ pipeline, destination: bigQueryOf() }),
	);
	expect(findCondition(conditions, "Ready")?.reason).toBe("TooManyLoadJobs");
});

test("a Pipeline that is being deleted is left alone", () => {
	const pipeline = scheduled("2026-03-10T03:00:00Z");
	pipeline.metadata.deletionTimestamp = "2026-03-10T12:00:00Z";
	expect(decide(stateOf({ pipeline }), now)).toEqual([]);
});

test.each<[string, Partial<PipelineState>, boolean]>([
	["its Source is as new", { source: withoutStatus(sourceOf()) }, true],
	[
		"its Destination is as new",
		{ destination: withoutStatus(destinationOf()) },
		true,
	],
	[
		"both have the CRD's default",
		{
			pipeline: pipelineOf({}, { status: { observedGeneration: -1 } }),
			source: sourceOf("orders", { observedGeneration: -1 }),
		},
		true,
	],
	["its Source does not exist", { source: undefined }, false],
	[
		"it has a status",
		{
			pipeline: pipelineOf({}, { status: {} }),
			source: withoutStatus(sourceOf()),
		},
		false,
	],
])("whether a new Pipeline keeps silent if %s", (_, changes, isSilent) => {
	expect(decide(stateOf(changes), now).length === 0).toBe(isSilent);
});

function withoutStatus<T extends { status?: unknown }>(object: T): T {
	const { status: _, ...rest } = object;
	return rest as T;
}
