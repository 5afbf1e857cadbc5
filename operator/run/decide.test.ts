import { expect, test } from "vitest";
import type { Run, RunStatus } from "../../crds/generated/types.ts";
import type { LoadInput } from "../../packages/contracts/job.ts";
import type {
	LoadExtent,
	ManifestAnswer,
} from "../../packages/contracts/manifest.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import {
	layout,
	pipelineOf,
	runOf,
} from "../../test/support/examples/resource-examples.ts";
import {
	answeredWith,
	jobWith,
	loaded,
	owned,
	podWith,
	reasonOf,
	stateOf,
	statusOf,
	types,
} from "../../test/support/examples/run-examples.ts";
import { decide, type RunAction } from "./decide.ts";
import type { RunState } from "./state.ts";

const now = Date.parse("2026-03-31T12:00:00Z");
test("a Run asks archive for the days that its Pipeline's rules give", () => {
	const actions = decide(stateOf(), now);
	expect(types(actions)).toEqual(["writeStatus", "askManifest"]);
	expect(statusOf(actions)).toMatchObject({
		phase: "Pending",
		observedGeneration: 1,
	});
	expect(actions[1]).toMatchObject({
		question: {
			run: "uid-r",
			account: "shop",
			sourceKey: layout.sourceKey,
			start: "2026-03-01",
		},
	});
});

test("a Run without an owner is adopted by its Pipeline", () => {
	const actions = decide(stateOf({ run: runOf("r") }), now);
	expect(types(actions)[0]).toBe("adopt");
});

test("a Run of an earlier Pipeline of the same name is left to garbage collection", () => {
	const run = owned(runOf("r"));
	run.metadata.ownerReferences![0]!.uid = "uid-of-an-earlier-one";
	const actions = decide(stateOf({ run }), now);
	expect(types(actions)).toEqual(["writeStatus", "requeueAfter"]);
	expect(reasonOf(actions)).toBe("PipelineNotFound");
});

test("a Run that an earlier Pipeline and a workflow own is left to garbage collection, too", () => {
	const run = owned(runOf("r"));
	const [pipeline] = run.metadata.ownerReferences!;
	run.metadata.ownerReferences = [
		{ ...pipeline!, uid: "uid-of-an-earlier-one" },
		{
			apiVersion: "argoproj.io/v1alpha1",
			kind: "Workflow",
			name: "w",
			uid: "w",
		},
	];
	expect(reasonOf(decide(stateOf({ run }), now))).toBe("PipelineNotFound");
});

test.each([
	[{ "tidemill.dev/request": "4c4b0a9d" }, "API"],
	[{ "tidemill.dev/trigger": "Schedule" }, "Schedule"],
	[{ "tidemill.dev/trigger": "API" }, "Manual"],
	[{}, "Manual"],
])(
	"a Run with the annotations %j has the trigger %s",
	(annotations, trigger) => {
		const run = owned(runOf("r"));
		run.metadata.annotations = annotations;
		expect(statusOf(decide(stateOf({ run }), now)).trigger).toBe(trigger);
	},
);

const lastSuccess = {
	snapshotTime: "2026-03-30T10:00:00Z",
	closedThrough: "2026-03-29",
	layout,
};

test.each<[string, Run, LoadExtent]>([
	["continues after the last success", runOf("r"), "Rest"],
	[
		"with full loads the whole window",
		runOf("r", undefined, { spec: { full: true } }),
		"Whole",
	],
	[
		"with full: false continues, too",
		runOf("r", undefined, { spec: { full: false } }),
		"Rest",
	],
	[
		"whose earlier Job found days missing loads the whole window",
		runOf("r", { extent: "Whole" }),
		"Whole",
	],
	[
		"whose earlier Job had expired links continues",
		runOf("r", { extent: "Rest" }),
		"Rest",
	],
])("a Run %s", (_, run, extent) => {
	const pipeline = pipelineOf({}, { status: { lastSuccess } });
	const references = { ...stateOf().references!, pipeline };
	const actions = decide(stateOf({ run: owned(run), references }), now);
	expect(actions.at(-1)).toMatchObject({ question: { extent } });
});

test("a Run that goes on waiting keeps the time at which it began to wait", () => {
	const shown = (status: RunStatus) =>
		findCondition(status.conditions, "Complete");
	const pending = statusOf(decide(stateOf({ references: undefined }), now));
	expect(shown(pending)?.reason).toBe("PipelineNotFound");
	const run = owned(runOf("r", pending));
	const preparing = statusOf(decide(stateOf({ run }), now + 60_000));
	expect(shown(preparing)).toMatchObject({
		reason: "Preparing",
		lastTransitionTime: "2026-03-31T12:00:00Z",
	});
});

test.each<[string, Partial<RunState>, string]>([
	["its Pipeline", { references: undefined }, "PipelineNotFound"],
	[
		"its Pipeline's Source",
		{ references: { ...stateOf().references!, source: undefined } },
		"PipelineNotReady",
	],
	[
		"its turn",
		{
			contenders: [
				{
					run: runOf("q", { phase: "Running" }),
					warehouse: layout.destination,
				},
			],
		},
		"WaitingForTurn",
	],
])("a Run waits for %s", (_, changes, reason) => {
	const actions = decide(stateOf(changes), now);
	expect(types(actions)).not.toContain("askManifest");
	expect(reasonOf(actions)).toBe(reason);
	expect(statusOf(actions).phase).toBe("Pending");
});

const answer: ManifestAnswer = {
	ok: true,
	url: "http://s3/manifest?signature=secret",
	snapshotTime: "2026-03-31T12:00:00Z",
	closedThrough: "2026-03-30",
	extent: "Rest",
	dates: { start: "2026-03-20", end: "2026-03-31" },
	expiresAt: "2026-04-01T00:00:00Z",
};

function start(given: ManifestAnswer) {
	return decide(answeredWith(stateOf(), given, now), now);
}

test("Kubernetes is asked before the status says that the Run loads, the status says what before the Job starts, and it never has the manifest's URL", () => {
	const actions = start(answer);
	expect(types(actions)).toEqual([
		"startJob",
		"writeStatus",
		"startJob",
		"recordKubeEvent",
	]);
	const dryRuns = actions.flatMap((each) =>
		each.type === "startJob" ? [each.dryRun] : [],
	);
	expect(dryRuns).toEqual([true, false]);
	expect(statusOf(actions)).toMatchObject({
		phase: "Running",
		startTime: "2026-03-31T12:00:00Z",
		strategy: "Incremental",
		dates: { start: "2026-03-20", end: "2026-03-31" },
		snapshotTime: "2026-03-31T12:00:00Z",
		closedThrough: "2026-03-30",
		layout,
	});
	const shown = actions.filter(({ type }) => type !== "startJob");
	expect(JSON.stringify(shown)).not.toContain("signature");
	const job = actions.find((action) => action.type === "startJob")?.job.job;
	expect(JSON.stringify(job)).not.toContain("signature");
});

test("the Job trusts the authorities that archive names, beside the public ones", () => {
	const trusting = start({ ...answer, authorities: "PEM" });
	expect(inputOf(trusting).authorities).toBe("PEM");
	expect(inputOf(start(answer))).not.toHaveProperty("authorities");
});

function inputOf(actions: RunAction[]): LoadInput {
	const job = actions.find((action) => action.type === "startJob");
	const { data } = job!.job.secret;
	return JSON.parse(Buffer.from(data!["input.json"]!, "base64").toString());
}

test("the Job of a scheduled Run adds what is new, and any other replaces its days", () => {
	const addsOf = (trigger: NonNullable<RunStatus["trigger"]>) => {
		const run = owned(runOf("r", { trigger }));
		const state = stateOf({ run });
		const asked = decide(state, now).at(-1)!;
		if (asked.type !== "askManifest") throw new Error(asked.type);
		const actions = decide(answeredWith(state, answer, now), now);
		return inputOf(actions).adds;
	};
	expect(addsOf("Schedule")).toBe(true);
	expect(addsOf("API")).toBeUndefined();
	expect(addsOf("Manual")).toBeUndefined();
});

test("a Pipeline with a table for the quarantine asks archive for that, too, and its Job gets the table's name and columns", () => {
	const { references } = stateOf();
	const pipeline = structuredClone(references!.pipeline);
	pipeline.spec.table.quarantine = true;
	const state = stateOf({ references: { ...references!, pipeline } });
	const asked = decide(state, now).at(-1)!;
	if (asked.type !== "askManifest") throw new Error(asked.type);
	expect(asked.question.quarantine).toBe(true);
	const job = decide(answeredWith(state, answer, now), now).find(
		(action) => action.type === "startJob",
	)!;
	const { data } = job.job.secret;
	expect(
		JSON.parse(Buffer.from(data!["input.json"]!, "base64").toString()),
	).toMatchObject({
		table: { name: "load_orders" },
		quarantineTable: {
			name: "quarantine_load_orders",
			columns: expect.arrayContaining([
				{ name: "violations", from: "Violations" },
			]),
		},
	});
	expect(decide(stateOf(), now).at(-1)).not.toHaveProperty(
		"question.quarantine",
	);
});

test("an archive that can't answer yet is asked again, and one that refuses ends the Run", () => {
	const error = { code: "X", message: "No S3.", retryable: true };
	const later = start({ ok: false, error });
	expect(types(later)).toEqual(["writeStatus", "requeueAfter"]);
	expect(reasonOf(later)).toBe("ManifestUnavailable");
	const never = start({ ok: false, error: { ...error, retryable: false } });
	expect(statusOf(never)).toMatchObject({
		phase: "Failed",
		error: { code: "X" },
	});
});

test("a snapshot that by the operator's clock has not come yet starts no Run, and the next answer may", () => {
	const at = (ms: number) => new Date(now + ms).toISOString();
	const ahead = start({ ...answer, snapshotTime: at(31_000) });
	expect(types(ahead)).toEqual(["writeStatus", "requeueAfter"]);
	expect(reasonOf(ahead)).toBe("ManifestUnavailable");
	expect(JSON.stringify(ahead)).toContain("Set the clocks");
	expect(types(start({ ...answer, snapshotTime: at(29_000) }))).toContain(
		"startJob",
	);
});

test("a Job's result is recorded before the Job is removed", () => {
	const pods = [podWith(undefined, 75), podWith(loaded, 0)];
	const actions = decide(stateOf({ job: jobWith("Complete"), pods }), now);
	expect(types(actions)).toEqual([
		"writeStatus",
		"recordKubeEvent",
		"removeJob",
	]);
	expect(statusOf(actions)).toMatchObject({
		phase: "Succeeded",
		completionTime: "2026-03-31T11:59:00Z",
		rows: 5,
		bytes: 10,
		objects: 1,
		attempts: 2,
	});
	expect(findCondition(statusOf(actions).conditions, "Complete")?.status).toBe(
		"True",
	);
});

test.each([
	["ObjectMismatch", "LoadFailed"],
	["DayWouldShrink", "DayWouldShrink"],
])("a Job that failed with %s gives the Run its error", (code, reason) => {
	const error = { code, message: "No.", retryable: false };
	const pods = [podWith({ version: 1, outcome: "Failed", error }, 65)];
	const actions = decide(stateOf({ job: jobWith("Failed"), pods }), now);
	const status = statusOf(actions);
	expect(status).toMatchObject({ phase: "Failed", error });
	expect(findCondition(status.conditions, "Failed")).toMatchObject({
		status: "True",
		reason,
	});
	expect(findCondition(status.conditions, "Complete")?.status).toBe("False");
});

const cancelled = owned(runOf("r", undefined, { spec: { cancel: true } }));

test.each<[string, Partial<RunState>, string]>([
	["before it has a Job", {}, "Cancelled"],
	["while its Job runs", { job: jobWith() }, "Cancelled"],
	[
		"after its Job has succeeded",
		{ job: jobWith("Complete"), pods: [podWith(loaded, 0)] },
		"Succeeded",
	],
])("a Run that is cancelled %s", (_, changes, phase) => {
	const actions = decide(stateOf({ run: cancelled, ...changes }), now);
	expect(statusOf(actions).phase).toBe(phase);
	expect(types(actions).at(-1)).toBe("removeJob");
});

test("a Run that has ended is left alone, except that its Job is removed", () => {
	const run = owned(
		runOf("r", {
			phase: "Succeeded",
			completionTime: "2026-03-31T11:00:00Z",
		}),
	);
	expect(decide(stateOf({ run }), now)).toEqual([]);
	expect(
		types(decide(stateOf({ run, job: jobWith("Complete") }), now)),
	).toEqual(["removeJob"]);
});

test("chosen days that can't be loaded end the Run at once", () => {
	const dates = { start: "2025-01-01", end: "2025-01-02" };
	const run = owned(runOf("r", undefined, { spec: { dates } }));
	expect(statusOf(decide(stateOf({ run }), now))).toMatchObject({
		phase: "Failed",
		error: { code: "DatesNotRetained", retryable: false },
	});
});

test("an ended Run that belongs to no Pipeline goes a week after its end", () => {
	const run = runOf("r", {
		phase: "Failed",
		completionTime: "2026-03-31T11:00:00Z",
	});
	const state = stateOf({ run, references: undefined });
	const dayMs = 86_400_000;
	expect(decide(state, now)).toEqual([
		{ type: "requeueAfter", afterMs: dayMs },
	]);
	const weekMs = 7 * dayMs - 3_600_000;
	expect(decide(state, now + weekMs - 1)).toEqual([
		{ type: "requeueAfter", afterMs: 1 },
	]);
	expect(decide(state, now + weekMs)).toEqual([
		{ type: "delete", object: run },
	]);
	// A Pipeline keeps its own Runs, and Kubernetes deletes those of one that is gone.
	expect(decide(stateOf({ run }), now + weekMs)).toEqual([]);
	expect(
		decide(stateOf({ run: owned(run), references: undefined }), now + weekMs),
	).toEqual([]);
});
