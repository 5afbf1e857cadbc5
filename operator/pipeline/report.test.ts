import { expect, test } from "vitest";
import {
	ended,
	nowMs as now,
	scheduled,
	stateOf,
	statusAfter,
} from "../../test/support/examples/pipeline-examples.ts";
import {
	pipelineOf,
	runOf,
} from "../../test/support/examples/resource-examples.ts";
import { decide } from "./decide.ts";
import type { PipelineState } from "./state.ts";

test("an active Run that is gone was deleted, and a KubeEvent says so", () => {
	const runs = [runOf("r")];
	const status = statusAfter(stateOf({ runs }));
	expect(status.activeRun).toBe("r");
	const pipeline = pipelineOf({}, { status });
	expect(decide(stateOf({ pipeline, runs }), now)).toEqual([]);
	expect(decide(stateOf({ pipeline }), now)).toContainEqual(
		expect.objectContaining({ type: "recordKubeEvent", reason: "RunDeleted" }),
	);
	const others = [runOf("by-hand")];
	expect(decide(stateOf({ pipeline, runs: others }), now)).toContainEqual(
		expect.objectContaining({ type: "recordKubeEvent", reason: "RunDeleted" }),
	);
	const over = [ended("r", "Cancelled", "2026-03-10T12:00:00Z")];
	expect(decide(stateOf({ pipeline, runs: over }), now)).not.toContainEqual(
		expect.objectContaining({ type: "recordKubeEvent" }),
	);
});

const noon = "2026-03-10T12:00:00Z";
const hasty = { startingDeadlineSeconds: 60 };

function missed(state: PipelineState, at = now): string[] {
	return decide(state, at).flatMap((action) =>
		action.type === "recordKubeEvent" && action.reason === "MissSchedule"
			? [`${action.severity}: ${action.message}`]
			: [],
	);
}

test.each<[string, Partial<PipelineState>, string]>([
	["the operator was down", {}, "The operator was too late."],
	[
		"another Run was active",
		{ runs: [runOf("by-hand")] },
		'Run "by-hand" was still active.',
	],
	[
		"it could not run",
		{ source: undefined },
		'There is no Source "orders" in this namespace. Create it, or change spec.sourceRef.name.',
	],
])(
	"a slot that is skipped because %s is reported once, with the reason",
	(_, changes, why) => {
		const pipeline = scheduled("2026-03-10T03:00:00Z", {}, hasty);
		const state = stateOf({ pipeline, ...changes });
		expect(missed(state)).toEqual([
			`Warning: The Run of ${noon} could not start within spec.startingDeadlineSeconds (60), so this scheduled time is skipped. ${why}`,
		]);
		const told = pipelineOf(pipeline.spec, { status: statusAfter(state) });
		expect(missed({ ...state, pipeline: told })).toEqual([]);
		expect(missed({ ...state, pipeline: told }, now + 3_600_000)).toHaveLength(
			1,
		);
	},
);

test("a slot that waits is reconciled when its deadline has passed, and reported then", () => {
	const pipeline = scheduled("2026-03-10T11:34:56Z", {}, hasty);
	const state = stateOf({ pipeline, runs: [runOf("by-hand")] });
	const noonMs = Date.parse(noon);
	expect(missed(state, noonMs + 20_000)).toEqual([]);
	expect(decide(state, noonMs + 20_000)).toContainEqual({
		type: "requeueAfter",
		afterMs: 40_001,
	});
	expect(missed(state, noonMs + 60_000)).toEqual([]);
	expect(missed(state, noonMs + 60_001)).toHaveLength(1);
});

test("a slot is skipped and reported if a Run of another Pipeline has its name", () => {
	const pipeline = scheduled("2026-03-10T03:00:00Z");
	const namesake = runOf("load-orders-29552400", undefined, {
		spec: { pipelineRef: { name: "other" } },
	});
	const actions = decide(stateOf({ pipeline, namesake }), now);
	expect(actions.map(({ type }) => type)).not.toContain("createRun");
	expect(actions).toContainEqual(
		expect.objectContaining({
			type: "recordKubeEvent",
			reason: "RunNameTaken",
		}),
	);
	const written = actions.find(({ type }) => type === "writeStatus");
	expect(written).toMatchObject({ status: { lastScheduleTime: noon } });
	expect(written).not.toHaveProperty("status.activeRun");
	expect(written).toMatchObject({ status: { phase: "Ready" } });
});

test("the name of another Run does not skip a slot", () => {
	const pipeline = scheduled("2026-03-10T03:00:00Z");
	const namesake = runOf("load-orders-1", undefined, {
		spec: { pipelineRef: { name: "other" } },
	});
	expect(decide(stateOf({ pipeline, namesake }), now)).toEqual(
		decide(stateOf({ pipeline }), now),
	);
});
