import { expect, test } from "vitest";
import type { Pipeline, Run } from "../../crds/generated/types.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import {
	ended,
	hourly,
	nowMs,
	scheduled,
	stateOf,
	statusAfter,
} from "../../test/support/examples/pipeline-examples.ts";
import {
	pipelineOf,
	runOf,
} from "../../test/support/examples/resource-examples.ts";
import type { NotificationState } from "../notification/state.ts";
import { decide } from "./decide.ts";

const notifications: NotificationState = {
	webhooks: { usable: [{ secret: "alerts", sealed: "sealed" }] },
	deliveries: new Map(),
};

function stateWith(pipeline: Pipeline, runs: Run[] = []) {
	return stateOf({ pipeline, runs, notifications });
}

/** The Pipeline as it is after a decision, with another spec on request. */
function after(
	pipeline: Pipeline,
	runs: Run[] = [],
	at = nowMs,
	spec = pipeline.spec,
): Pipeline {
	const status = statusAfter(stateWith(pipeline, runs), at);
	return { ...pipeline, spec, status };
}

function toldOf(pipeline: Pipeline, runs: Run[] = [], at = nowMs) {
	return decide(stateWith(pipeline, runs), at).flatMap((action) =>
		action.type === "notify"
			? action.due.map(({ type, run }) => (run ? `${type} ${run}` : type))
			: [],
	);
}

const at = (time: string) => `2026-03-10T${time}Z`;
const failedAt = (name: string, time: string) =>
	ended(name, "Failed", at(time), {
		error: { code: "QuotaExceeded", message: "No more.", retryable: true },
	});

test("a failed Run is one notification, with its error", () => {
	const seen = after(pipelineOf());
	const runs = [failedAt("a", "12:00:00")];
	const [action] = decide(stateWith(seen, runs), nowMs);
	expect(action).toEqual({
		type: "notify",
		due: [
			{
				id: "msg_uid-a_failed",
				type: "RunFailed",
				time: at("12:00:00"),
				run: "a",
				message: 'Run "a" failed (QuotaExceeded): No more.',
			},
		],
	});
	expect(toldOf(after(seen, runs), runs)).toEqual([]);
	// Pruned or deleted.
	expect(toldOf(after(seen, runs))).toEqual([]);
});

test("each failed Run is a notification, and the first success after one; a cancelled Run is none", () => {
	const runs: Run[] = [];
	let pipeline = after(pipelineOf());
	const next = (run: Run) => {
		runs.push(run);
		const told = toldOf(pipeline, runs);
		pipeline = after(pipeline, runs);
		return told;
	};
	expect(next(ended("a", "Succeeded", at("01:00:00")))).toEqual([]);
	expect(next(failedAt("b", "02:00:00"))).toEqual(["RunFailed b"]);
	expect(next(failedAt("c", "03:00:00"))).toEqual(["RunFailed c"]);
	expect(next(ended("d", "Cancelled", at("04:00:00")))).toEqual([]);
	expect(next(ended("e", "Succeeded", at("05:00:00")))).toEqual([
		"RunRecovered e",
	]);
	expect(next(ended("f", "Succeeded", at("06:00:00")))).toEqual([]);
	expect(next(ended("g", "Cancelled", at("07:00:00")))).toEqual([]);
	expect(next(ended("h", "Succeeded", at("08:00:00")))).toEqual([]);
});

test("Runs that ended while nobody looked are notifications in their order", () => {
	const first = failedAt("a", "01:00:00");
	const pipeline = after(pipelineOf(), [first]);
	const runs = [
		ended("d", "Succeeded", at("04:00:00")),
		failedAt("c", "03:00:00"),
		ended("b", "Succeeded", at("02:00:00")),
		first,
	];
	expect(toldOf(pipeline, runs)).toEqual([
		"RunRecovered b",
		"RunFailed c",
		"RunRecovered d",
	]);
});

test("of two Runs that end in the same second, the second is a notification as well", () => {
	const [older, younger] = [
		failedAt("a", "12:00:00"),
		failedAt("b", "12:00:00"),
	];
	younger.metadata.creationTimestamp = at("11:59:59");
	const pipeline = after(pipelineOf(), [older]);
	expect(toldOf(pipeline, [older, younger])).toEqual(["RunFailed b"]);
});

test.each([
	[["RunRecovered"], []],
	[["RunFailed"], ["RunFailed a"]],
	[[], []],
] as const)("with notify.types %j only those are told", (types, expected) => {
	const seen = after(pipelineOf({ notify: { types: [...types] } }));
	expect(toldOf(seen, [failedAt("a", "12:00:00")])).toEqual(expected);
});

test("a long error is cut", () => {
	const run = failedAt("a", "12:00:00");
	run.status!.error!.message = "x".repeat(100_000);
	const [action] = decide(stateWith(after(pipelineOf()), [run]), nowMs);
	expect(action?.type === "notify" && action.due[0]!.message).toHaveLength(
		1_000,
	);
});

const lateSpec = { notify: { lateAfter: "30m" } } as const;
const onTime = (pipeline: Pipeline) =>
	findCondition(pipeline.status?.conditions, "RunOnTime");

test("a Run that still loads is late after its time, once, and its end is a recovery", () => {
	// The slot of 12:00.
	const active = runOf("a", { phase: "Running" });
	const noon = after(
		scheduled(at("11:30:00"), {}, lateSpec),
		[active],
		Date.parse(at("12:29:59")),
	);
	expect(onTime(noon)?.status).toBe("True");
	expect(
		decide(stateWith(noon, [active]), Date.parse(at("12:29:59"))),
	).toContainEqual({
		type: "requeueAfter",
		afterMs: 1_000,
	});
	const late = Date.parse(at("12:30:00"));
	const [action] = decide(stateWith(noon, [active]), late);
	expect(action).toMatchObject({
		type: "notify",
		due: [
			{
				type: "RunLate",
				id: expect.stringMatching(/_late_\d+$/),
				message:
					'The Run of 2026-03-10T12:00:00Z has not ended within 30m. Run "a" is active.',
			},
		],
	});
	const told = after(noon, [active], late);
	expect(onTime(told)).toMatchObject({ status: "False", reason: "Late" });
	// Later slots pass, too.
	for (const time of ["12:31:00", "14:00:00"])
		expect(toldOf(told, [active], Date.parse(at(time)))).toEqual([]);
	const end = ended("a", "Succeeded", at("14:10:00"));
	const recovered = Date.parse(at("14:10:01"));
	expect(toldOf(told, [end], recovered)).toEqual(["RunRecovered a"]);
	expect(onTime(after(told, [end], recovered))?.status).toBe("True");
});

test("a Pipeline that can't run is late, and the message says why", () => {
	const pipeline = scheduled(at("11:30:00"), {}, lateSpec);
	const state = { ...stateWith(pipeline), destination: undefined };
	const late = Date.parse(at("12:30:00"));
	expect(decide(state, late)).toContainEqual({
		type: "notify",
		due: [
			expect.objectContaining({
				type: "RunLate",
				message: expect.stringContaining('no Destination "files"'),
			}),
		],
	});
});

test("a scheduled time that is skipped is late at once, and stays so until a Run ends", () => {
	const spec = { ...lateSpec, startingDeadlineSeconds: 60 };
	const active = runOf("a", { phase: "Running" });
	const pipeline = scheduled(at("11:30:00"), {}, spec);
	const late = Date.parse(at("12:02:00"));
	expect(toldOf(pipeline, [active], late)).toEqual(["RunLate"]);
	const told = after(pipeline, [active], late);
	const soon = Date.parse(at("12:03:00"));
	expect(onTime(after(told, [active], soon))?.status).toBe("False");
	expect(toldOf(told, [active], soon)).toEqual([]);
});

test.each([
	["manual", { schedule: { type: "Manual" as const } }],
	["suspended", { suspend: true }],
	["without lateAfter", { notify: {} }],
])("nothing is late while the schedule is %s", (_, spec) => {
	const late = after(
		scheduled(at("11:30:00"), {}, lateSpec),
		[runOf("a", { phase: "Running" })],
		Date.parse(at("12:30:00")),
	);
	expect(onTime(late)?.status).toBe("False");
	const off = { ...late, spec: { ...late.spec, ...spec } };
	expect(onTime(after(off, [], nowMs))).toBeUndefined();
	expect(toldOf(off)).toEqual([]);
});

test("an edited or resumed schedule is late for nothing before", () => {
	const old = ended("a", "Succeeded", "2026-03-01T12:00:00Z");
	const manual = after(pipelineOf({ ...lateSpec }), [old]);
	const edited = { ...manual, spec: { ...manual.spec, schedule: hourly } };
	expect(toldOf(edited, [old])).toEqual([]);
	expect(onTime(after(edited, [old]))?.status).toBe("True");
});
