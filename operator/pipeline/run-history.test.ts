import { expect, test } from "vitest";
import type { Run } from "../../crds/generated/types.ts";
import { ended } from "../../test/support/examples/pipeline-examples.ts";
import {
	layout,
	pipelineOf,
	runOf,
} from "../../test/support/examples/resource-examples.ts";
import { runHistory } from "./run-history.ts";

const second = "2026-03-10T01:00:00Z";
const now = Date.parse("2026-03-10T12:00:00Z");

function surplusOf(runs: Run[], failed: number): string[] {
	const pipeline = pipelineOf({
		runHistory: { succeeded: 1, failed, days: 30 },
	});
	return runHistory(pipeline, runs, now).surplus.map(
		({ metadata }) => metadata.name,
	);
}

test("of Runs that ended in the same second, all are kept if one is", () => {
	const runs = [
		ended("early", "Failed", "2026-03-10T00:59:59Z"),
		ended("cancelled", "Cancelled", second),
		ended("failed", "Failed", second),
	];
	expect(surplusOf(runs, 1)).toEqual(["early"]);
	expect(surplusOf(runs, 2)).toEqual(["early"]);
	expect(surplusOf(runs, 3)).toEqual([]);
	expect(surplusOf(runs, 0)).toHaveLength(3);
});

test("of Runs that ended in the same second, the younger was the last", () => {
	const older = ended("z", "Failed", second);
	const younger = ended("a", "Cancelled", second);
	older.metadata.creationTimestamp = "2026-03-10T00:59:00Z";
	younger.metadata.creationTimestamp = "2026-03-10T00:59:01Z";
	expect(runHistory(pipelineOf(), [older, younger], now).lastRun?.name).toBe(
		"a",
	);
});

test("the last Run is the one that ended last, in whatever order they are read, with its rows", () => {
	const early = ended("early", "Failed", "2026-03-10T00:59:59Z");
	const late = ended("late", "Succeeded", second, { rows: 7 });
	const last = { name: "late", phase: "Succeeded", rows: 7 };
	for (const runs of [
		[early, late],
		[late, early],
	])
		expect(runHistory(pipelineOf(), runs, now).lastRun).toEqual({
			...last,
			completionTime: second,
		});
});

test("the last Run is remembered after it is deleted, and is not an older one", () => {
	const lastRun = {
		name: "late",
		phase: "Failed",
		completionTime: second,
	} as const;
	const pipeline = pipelineOf({}, { status: { lastRun } });
	const early = ended("early", "Succeeded", "2026-03-10T00:59:59Z");
	const deleted = runHistory(pipeline, [early], now);
	expect(deleted.lastRun).toEqual(lastRun);
	expect(deleted.latest).toBeUndefined();
	const late = ended("late", "Failed", second);
	expect(runHistory(pipeline, [early, late], now).latest).toBe(late);
});

test("the active Run is the oldest that hasn't ended, in whatever order they are read", () => {
	const [older, younger] = ["00", "01"].map((minute) =>
		runOf(`at-${minute}`, undefined, {
			createdAt: `2026-03-10T00:${minute}:00Z`,
		}),
	);
	const active = (...runs: Run[]) => runHistory(pipelineOf(), runs, now).active;
	expect(active(older!, younger!)).toBe(older);
	expect(active(younger!, older!)).toBe(older);
});

test("a table is empty as long as no Run has put a row into it", () => {
	const facts = { snapshotTime: second, closedThrough: "2026-03-09", layout };
	const after = (
		rows: number,
		remembered?: object,
		strategy = "Incremental",
	) => {
		const of = { ...facts, layout: { ...layout, strategy } };
		const run = ended("r", "Succeeded", second, {
			...of,
			rows,
			extent: "Rest",
		});
		const pipeline = pipelineOf();
		pipeline.status = remembered ? { lastSuccess: remembered as never } : {};
		return runHistory(pipeline, [run], now).lastSuccess?.empty ?? false;
	};
	const before = { ...facts, snapshotTime: "2026-03-09T01:00:00Z" };
	expect(after(0)).toBe(true);
	expect(after(1)).toBe(false);
	expect(after(0, before)).toBe(false);
	expect(after(0, { ...before, empty: true })).toBe(true);
	expect(after(1, { ...before, empty: true })).toBe(false);
	expect(after(0, { ...before, layout: { ...layout, table: "old" } })).toBe(
		true,
	);
	expect(after(0, before, "FullReload")).toBe(true);
});

test("a Run of chosen days that had to load the whole window counts as a success", () => {
	const facts = { snapshotTime: second, closedThrough: "2026-03-09", layout };
	const dates = { start: "2026-03-01", end: "2026-03-02" };
	const successOf = (extent: "Chosen" | "Whole") => {
		const status = { ...facts, extent };
		const run = ended("r", "Succeeded", second, status, { dates });
		return runHistory(pipelineOf(), [run], now).lastSuccess;
	};
	expect(successOf("Whole")).toEqual({ runUID: "uid-r", ...facts });
	expect(successOf("Chosen")).toBeUndefined();
});

test("Runs of chosen dates after the last success are remembered, also when they are deleted, until a Run continues", () => {
	const facts = { closedThrough: "2026-03-09", layout };
	const chosen = { dates: { start: "2026-03-01", end: "2026-03-02" } };
	const at = (name: string, time: string, how: object, spec = {}) =>
		ended(
			name,
			"Succeeded",
			time,
			{ ...facts, snapshotTime: time, ...how },
			spec,
		);
	const minute = (n: number) =>
		`2026-03-10T12:${String(n).padStart(2, "0")}:00Z`;
	const reload = (n: number, how: object = {}) =>
		at(`c${n}`, minute(n), { extent: "Chosen", ...how }, chosen);
	const whole = at("w", minute(5), { extent: "Whole" });
	const pipeline = pipelineOf();
	const reloadsAfter = (...runs: Run[]) => {
		const { lastSuccess } = runHistory(pipeline, runs, Date.parse(minute(40)));
		pipeline.status = { ...pipeline.status, lastSuccess: lastSuccess! };
		return lastSuccess?.reloads;
	};
	expect(
		reloadsAfter(
			reload(4),
			whole,
			reload(7),
			reload(6),
			reload(8, { layout: { ...layout, table: "other" } }),
			{ ...reload(9), status: { ...reload(9).status, phase: "Failed" } },
		),
	).toEqual(["uid-c6", "uid-c7"]);
	expect(reloadsAfter(reload(10))).toEqual(["uid-c6", "uid-c7", "uid-c10"]);
	const many = Array.from({ length: 12 }, (_, n) => reload(11 + n));
	expect(reloadsAfter(whole, ...many)).toEqual(
		many.slice(2).map(({ metadata }) => metadata.uid),
	);
	const rest = at("r", minute(30), { extent: "Rest" });
	expect(reloadsAfter(rest, ...many)).toBeUndefined();
	expect(reloadsAfter(reload(31))).toEqual(["uid-c31"]);
});

test("of a table that each Run replaces as a whole, the last success says which dates it holds", () => {
	const dates = { start: "2026-02-08", end: "2026-03-10" };
	const heldBy = (strategy: "FullReload" | "Incremental") => {
		const facts = { snapshotTime: second, closedThrough: "2026-03-09" };
		const status = { ...facts, layout: { ...layout, strategy }, dates };
		const run = ended("r", "Succeeded", second, status);
		return runHistory(pipelineOf(), [run], now).lastSuccess?.dates;
	};
	expect(heldBy("FullReload")).toEqual(dates);
	expect(heldBy("Incremental")).toBeUndefined();
});

test("an older success does not replace a later one whose Run is deleted", () => {
	const known = {
		snapshotTime: "2026-03-10T12:00:00Z",
		closedThrough: "2026-03-09",
		layout,
	};
	const pipeline = pipelineOf({}, { status: { lastSuccess: known } });
	const success = (snapshotTime: string) =>
		runHistory(
			pipeline,
			[
				runOf("r", {
					phase: "Succeeded",
					completionTime: snapshotTime,
					snapshotTime,
					closedThrough: "2026-03-08",
					layout,
				}),
			],
			now,
		).lastSuccess;
	expect(success("2026-03-10T11:00:00Z")).toEqual(known);
	// Of the same snapshot, what the Run itself says counts.
	for (const snapshotTime of [known.snapshotTime, "2026-03-10T12:00:20Z"])
		expect(success(snapshotTime)).toMatchObject({
			snapshotTime,
			closedThrough: "2026-03-08",
		});
});

test("an ended Run goes when its days are over, and the Pipeline looks again at the next one", () => {
	const pipeline = pipelineOf({
		runHistory: { succeeded: 10, failed: 5, days: 2 },
	});
	const runs = [
		ended("s1", "Succeeded", "2026-03-08T12:00:00Z"),
		ended("f1", "Failed", "2026-03-08T11:59:59Z"),
		ended("s2", "Succeeded", "2026-03-08T12:00:01Z"),
		ended("f2", "Failed", "2026-03-10T10:00:00Z"),
	];
	const { surplus, nextExpiryMs } = runHistory(pipeline, runs, now);
	expect(surplus.map(({ metadata }) => metadata.name)).toEqual(["s1", "f1"]);
	expect(nextExpiryMs).toBe(now + 1_000);
	expect(runHistory(pipeline, [], now).nextExpiryMs).toBeUndefined();
});

test("no Run continues from a snapshot of the future, also when that future has come", () => {
	const success = (snapshotTime: string, completionTime: string) =>
		ended(completionTime, "Succeeded", completionTime, {
			snapshotTime,
			closedThrough: snapshotTime.slice(0, 10),
			layout,
		});
	const ahead = success("2026-03-12T01:00:00Z", "2026-03-10T01:00:00Z");
	const honest = success("2026-03-10T00:59:00Z", "2026-03-10T00:59:30Z");
	for (const days of [0, 5]) {
		const at = now + days * 86_400_000;
		const { lastSuccess } = runHistory(pipelineOf(), [ahead, honest], at);
		expect(lastSuccess?.snapshotTime).toBe("2026-03-10T00:59:00Z");
	}
	// The operator's clock was ahead, too.
	const bothAhead = success("2026-03-12T01:00:00Z", "2026-03-12T01:00:30Z");
	expect(
		runHistory(pipelineOf(), [bothAhead, honest], now).lastSuccess
			?.snapshotTime,
	).toBe("2026-03-10T00:59:00Z");
	const remembered = {
		snapshotTime: "2026-03-12T01:00:00Z",
		closedThrough: "2026-03-11",
		layout,
	};
	const pipeline = pipelineOf({}, { status: { lastSuccess: remembered } });
	expect(runHistory(pipeline, [], now).lastSuccess).toBeUndefined();
	expect(runHistory(pipeline, [honest], now).lastSuccess?.snapshotTime).toBe(
		"2026-03-10T00:59:00Z",
	);
});
