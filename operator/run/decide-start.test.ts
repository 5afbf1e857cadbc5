import { expect, test } from "vitest";
import type { Run, RunStatus } from "../../crds/generated/types.ts";
import type { ManifestAnswer } from "../../packages/contracts/manifest.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import {
	destinationOf,
	runOf,
} from "../../test/support/examples/resource-examples.ts";
import {
	answeredWith,
	decideRefused,
	jobWith,
	owned,
	reasonOf,
	refusalOf,
	stateOf,
	statusOf,
	types,
} from "../../test/support/examples/run-examples.ts";
import { decide } from "./decide.ts";

const now = Date.parse("2026-03-31T12:00:00Z");
const answer: ManifestAnswer = {
	ok: true,
	url: "http://s3/manifest",
	snapshotTime: "2026-03-31T12:00:00Z",
	closedThrough: "2026-03-30",
	extent: "Rest",
	expiresAt: "2026-04-01T00:00:00Z",
};
const away: ManifestAnswer = {
	ok: false,
	error: { code: "X", message: "No S3.", retryable: true },
};

function start(given: ManifestAnswer, run: Run = owned(runOf("r"))) {
	return decide(answeredWith(stateOf({ run }), given, now), now);
}

const runWith = (status: RunStatus) => owned(runOf("r", status));

test("a Run that is being deleted is left alone, even with a Job", () => {
	const run = owned(runOf("r"));
	run.metadata.deletionTimestamp = "2026-03-31T12:00:00Z";
	expect(decide(stateOf({ run }), now)).toEqual([]);
	expect(decide(stateOf({ run, job: jobWith("Complete") }), now)).toEqual([]);
});

test.each([
	["another controller", "argoproj.io/v1alpha1", "Workflow"],
	["another group's Pipeline", "tekton.dev/v1", "Pipeline"],
	["another kind of Tidemill's", "tidemill.dev/v1alpha1", "Source"],
])("a Run that belongs to %s is adopted as well", (_, apiVersion, kind) => {
	const run = runOf("r");
	const uid = "uid-of-an-owner";
	run.metadata.ownerReferences = [{ apiVersion, kind, name: "o", uid }];
	const actions = decide(stateOf({ run }), now);
	expect(types(actions)).toEqual(["adopt", "writeStatus", "askManifest"]);
});

test("a Run that counts for the dry run of an Erase isn't its Pipeline's, asks for one day and hands over what it counts", () => {
	const run = runOf("r");
	const owner = {
		...{ apiVersion: "tidemill.dev/v1alpha1", kind: "Operation", name: "o" },
		...{ uid: "uid-of-an-erase", controller: true },
	};
	run.metadata.ownerReferences = [owner];
	const counts = { mode: "RemoveRow", eventIDs: ["a"] } as const;
	const state = stateOf({ run, counts: { ...counts, eventIDs: ["a"] } });
	const actions = decide(state, now);
	expect(types(actions)).toEqual(["writeStatus", "askManifest"]);
	expect(actions.at(-1)).toMatchObject({
		question: { extent: "Chosen", start: "2026-03-31", end: "2026-03-31" },
	});
	const started = decide(answeredWith(state, answer, now), now);
	const [created] = started.flatMap((action) =>
		action.type === "startJob" ? [action.job.secret.data!["input.json"]!] : [],
	);
	const input = JSON.parse(Buffer.from(created!, "base64").toString());
	expect(input).toMatchObject({ counts });
	// Nobody asks any more.
	const late = decide(stateOf({ run }), now);
	expect(reasonOf(late)).toBe("PipelineNotReady");
});

test("a Run asks for new links only if it had a Job before", () => {
	const asked = (run: Run) => decide(stateOf({ run }), now).at(-1);
	expect(asked(owned(runOf("r")))).not.toHaveProperty("question.renew");
	const before = runWith({ startTime: "2026-03-31T11:45:00Z" });
	expect(asked(before)).toHaveProperty("question.renew", true);
});

test("a Run's links work for as long as it may take, and no longer", () => {
	const asked = (run: Run) => decide(stateOf({ run }), now).at(-1);
	const minutes = (count: number) => count * 60;
	// The Pipeline gives it an hour, and ten minutes are for the Job's start and end.
	expect(asked(owned(runOf("r")))).toMatchObject({
		question: { linkSeconds: minutes(70) },
	});
	expect(asked(runWith({ startTime: "2026-03-31T11:45:00Z" }))).toMatchObject({
		question: { linkSeconds: minutes(55) },
	});
});

test("archive is told all shards of a Source that has moved: NATS may have lost them", () => {
	const { references } = stateOf();
	const asked = (shards: number[]) => {
		const source = structuredClone(references!.source!);
		Object.assign(source.status!, { shard: 1, shards });
		const state = stateOf({ references: { ...references!, source } });
		return decide(state, now).at(-1);
	};
	expect(asked([0, 1])).toHaveProperty("question.shards", [0, 1]);
	expect(asked([1])).not.toHaveProperty("question.shards");
});

test("archive's last refusal stays in the status while archive is asked again", () => {
	const refused = statusOf(start(away));
	expect(refused.phase).toBe("Pending");
	const run = runWith(refused);
	expect(types(decide(stateOf({ run }), now))).toEqual(["askManifest"]);
});

test("a Run says how far archive is", () => {
	const progress = "1200 of 5000 events are archived.";
	const run = runWith(statusOf(start(away)));
	const actions = decide(stateOf({ run, progress }), now);
	expect(findCondition(statusOf(actions).conditions, "Complete")).toMatchObject(
		{
			reason: "Preparing",
			message: `Archive is listing the objects to load: ${progress}`,
		},
	);
});

test("a Run whose Source has no readable keys waits and asks nobody", () => {
	const actions = decide(stateOf({ shard: undefined }), now);
	expect(types(actions)).toEqual(["writeStatus", "requeueAfter"]);
	expect(reasonOf(actions)).toBe("ManifestUnavailable");
	expect(JSON.stringify(actions)).toContain(
		'The Secret with the keys of Source \\"orders\\" is missing or damaged.',
	);
});

test.each([
	["2026-03-31T12:00:00Z", 1_000],
	["2026-03-31T11:59:56Z", 1_000],
	["2026-03-31T11:59:00Z", 15_000],
	["2026-03-31T11:56:00Z", 60_000],
	["2026-03-31T02:00:00Z", 60_000],
])("a Run of %s tries again in %d ms", (createdAt, afterMs) => {
	const run = owned(runOf("r", undefined, { createdAt }));
	expect(start(away, run)).toContainEqual({ type: "requeueAfter", afterMs });
});

test("a Run whose Job Kubernetes refuses tries again when that is due", () => {
	expect(decideRefused(stateOf(), "A quota.", now)).toContainEqual({
		type: "requeueAfter",
		afterMs: 2_000,
	});
});

test("a Job that Kubernetes refuses is reported with a warning and tried again", () => {
	const actions = decideRefused(stateOf(), "A quota.", now);
	expect(types(actions)).toEqual([
		"recordKubeEvent",
		"writeStatus",
		"requeueAfter",
	]);
	expect(statusOf(actions).phase).toBe("Pending");
	const message = "Kubernetes refused the Job: A quota.";
	expect(findCondition(statusOf(actions).conditions, "Complete")).toMatchObject(
		{ reason: "JobNotStarted", message },
	);
	expect(actions[0]).toMatchObject({
		severity: "Warning",
		reason: "JobNotStarted",
		message,
	});
	// The status says so already, and the next reconcile writes nothing new.
	const run = runWith(statusOf(actions));
	const again = decideRefused(stateOf({ run }), "A quota.", now);
	expect(types(again)).not.toContain("recordKubeEvent");
});

test.each([
	["the whole time at first", undefined, 3600],
	["what is left, in full seconds", "2026-03-31T11:15:00.500Z", 901],
	["one second when there is nothing left", "2026-03-31T11:00:00Z", 1],
	["one second when it is late", "2026-03-31T10:00:00Z", 1],
])("a Job gets %s", (_, startTime, seconds) => {
	const run = startTime ? runWith({ startTime }) : owned(runOf("r"));
	const job = start(answer, run).find(({ type }) => type === "startJob");
	expect(job).toMatchObject({
		job: { job: { spec: { activeDeadlineSeconds: seconds } } },
	});
});

test("a Run without days says so and starts a Job for them", () => {
	const actions = start(answer);
	expect(statusOf(actions)).not.toHaveProperty("dates");
	expect(actions).toContainEqual({
		type: "recordKubeEvent",
		severity: "Normal",
		reason: "RunStarted",
		message:
			'Loading no days into table "load_orders": the Source has no events in the Run\'s dates.',
	});
});

test("a Run whose Destination is no longer Ready, or is gone, when archive answers doesn't go on", () => {
	const { references } = stateOf();
	const destination = structuredClone(destinationOf());
	destination.status!.conditions![0]!.status = "False";
	for (const [later, reason] of [
		[{ ...references!, destination }, "PipelineNotReady"],
		[undefined, "PipelineNotFound"],
	] as const) {
		const actions = decide(stateOf({ references: later }), now);
		expect(types(actions)).toEqual(["writeStatus", "requeueAfter"]);
		expect(statusOf(actions).phase).toBe("Pending");
		expect(reasonOf(actions)).toBe(reason);
	}
});

test("a failing webhook is reported by Event and status in its own words, the deadline counts, and archive's answer is kept", () => {
	const words =
		'failed calling webhook "p.example.com": Post "https://10.0.0.1:8443/": connection refused';
	const answered = answeredWith(stateOf(), answer, now);
	const refusal = refusalOf(words, { status: 500, retryInMs: 40_000 });
	const actions = decide({ ...answered, refusal }, now);
	expect(types(actions)).toEqual([
		"recordKubeEvent",
		"writeStatus",
		"requeueAfter",
	]);
	expect(actions[0]).toMatchObject({
		severity: "Warning",
		reason: "WriteRefused",
	});
	const recorded = JSON.stringify(actions);
	expect(recorded).toContain('Post \\"<address>\\"');
	expect(recorded).not.toContain("10.0.0.1");
	expect(statusOf(actions)).toMatchObject({
		phase: "Pending",
		pendingSince: "2026-03-31T12:00:00Z",
	});
	expect(actions.at(-1)).toEqual({ type: "requeueAfter", afterMs: 40_000 });
	// When it is due, the Job is tried with the answer that was kept.
	const run = runWith(statusOf(actions));
	const due = { ...refusal, retryInMs: 0 };
	const again = decide({ ...answered, run, refusal: due }, now + 40_000);
	expect(types(again)[0]).toBe("startJob");
	// A single failure is not reported.
	const passing = { ...refusal, mayPass: true };
	expect(decide({ ...answered, refusal: passing }, now)).toEqual([
		{ type: "requeueAfter", afterMs: 40_000 },
	]);
});

test("an adoption that Kubernetes refuses isn't tried again before it is due", () => {
	const answered = answeredWith(stateOf(), answer, now);
	const run = runOf("r");
	const refusal = refusalOf("denied");
	expect(types(decide({ ...answered, run, refusal }, now))).not.toContain(
		"adopt",
	);
});
