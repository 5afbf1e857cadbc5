import { expect, test } from "vitest";
import type {
	OperationSpec,
	OperationStatus,
} from "../../crds/generated/types.ts";
import type { AdditionAnswer } from "../../packages/contracts/archive.ts";
import type { ManifestAnswer } from "../../packages/contracts/manifest.ts";
import type { OperationReport } from "../../packages/contracts/operation.ts";
import {
	answeredWith,
	operationOf,
	reasonOf,
	stateOf,
	statusOf,
	types,
} from "../../test/support/examples/operation-examples.ts";
import { sourceOf } from "../../test/support/examples/resource-examples.ts";
import {
	jobWith,
	loaded,
	podWith,
	refusalOf,
} from "../../test/support/examples/run-examples.ts";
import { decide } from "./decide.ts";
import { workOf } from "./work.ts";

const now = Date.parse("2026-03-31T12:00:10Z");
const hour = 3_600_000;
const answer: ManifestAnswer = {
	ok: true,
	url: "http://s3/manifest?signature=secret",
	snapshotTime: "2026-03-31T12:00:09Z",
	closedThrough: "2026-03-30",
	extent: "Chosen",
	dates: { start: "2026-03-25", end: "2026-03-31" },
	expiresAt: "2026-03-31T14:00:00Z",
};
const begun: OperationStatus = {
	phase: "Running",
	startTime: "2026-03-31T12:00:10Z",
	sourceKey: "5".repeat(32),
	attempts: 1,
};
const report: OperationReport = {
	version: 1,
	type: "DryRun",
	events: 5,
	planned: 2,
	annotated: 1,
	quarantined: 1,
	rejected: 1,
	findings: [
		{
			type: "order",
			kind: "TypeMismatch",
			path: "/id",
			message: "must be a number",
			events: 3,
			example: "e1",
		},
	],
	otherFindings: 0,
};
const done = {
	job: jobWith("Complete"),
	pods: [podWith(loaded, 0)],
	stored: { ok: true as const, report: JSON.stringify(report) },
};

test("an Export has no Job: archive lists the files, and the status says how many there are", () => {
	const operation = operationOf();
	const { plan: _, ...rest } = operation.spec;
	operation.spec = { ...rest, type: "Export" };
	const state = stateOf({ operation, work: { work: undefined } });
	expect(decide(state, now).at(-1)).toMatchObject({
		type: "askManifest",
		question: { start: "2026-03-01", end: "2026-03-31", totals: true },
	});
	const listed = { ...answer, totals: { rows: 5, objects: 2, bytes: 900 } };
	const actions = decide(answeredWith(state, listed, now), now);
	expect(actions.some(({ type }) => type === "startJob")).toBe(false);
	expect(statusOf(actions)).toMatchObject({
		phase: "Succeeded",
		completionTime: "2026-03-31T12:00:10Z",
		dates: { start: "2026-03-25", end: "2026-03-31" },
		snapshotTime: "2026-03-31T12:00:09Z",
		export: { events: 5, files: 2, bytes: 900 },
		summary: "5 events in 2 files, 900 bytes",
	});
});

test("archive is asked for the last seven days, in the Operation's own name", () => {
	const actions = decide(stateOf(), now);
	expect(reasonOf(actions)).toBe("Preparing");
	expect(actions.at(-1)).toEqual({
		type: "askManifest",
		shard: 3,
		question: {
			run: "uid-try",
			account: "shop",
			sourceKey: "5".repeat(32),
			extent: "Chosen",
			start: "2026-03-25",
			end: "2026-03-31",
			report: true,
			linkSeconds: 3600 + 600,
		},
	});
});

test("dates are as the spec says, and must be among the kept days", () => {
	const dates = { start: "2026-03-01", end: "2026-03-02" };
	const operation = operationOf(undefined, { dates });
	const asked = decide(stateOf({ operation }), now).at(-1);
	expect(asked).toMatchObject({ question: dates });
	for (const dates of [
		{ start: "2026-02-01", end: "2026-02-28" },
		{ start: "2026-04-01", end: "2026-04-02" },
	]) {
		const operation = operationOf(undefined, { dates });
		const status = statusOf(decide(stateOf({ operation }), now));
		expect(status.error?.code).toBe("OperationDatesNotKept");
		expect(status.error?.message).toContain(
			"Choose dates from 2026-03-01 to 2026-03-31.",
		);
	}
});

test("an Inspect looks at all days that are kept, and its Job gets the filter and the page", () => {
	const filter = { types: ["paid"] };
	const operation = operationOf(undefined, { type: "Inspect", filter });
	delete operation.spec.plan;
	const state = stateOf({
		operation,
		work: workOf(operation, undefined, () => undefined, "2026-03-01"),
	});
	expect(decide(state, now).at(-1)).toMatchObject({
		question: {
			start: "2026-03-01",
			end: "2026-03-31",
			report: true,
			released: true,
		},
	});
	const start = decide(answeredWith(state, answer, now), now)[0]!;
	if (start.type !== "startJob") throw new Error(start.type);
	const text = Buffer.from(
		start.job.secret.data!["input.json"]!,
		"base64",
	).toString();
	expect(JSON.parse(text).work).toEqual({ type: "Inspect", filter, limit: 20 });
});

test.each([
	["SourceNotFound", { source: undefined }],
	["SourceNotReady", { source: sourceOf("orders", {}) }],
	[
		"PlanNotFound",
		{ operation: operationOf(undefined, { plan: { name: "p" } }) },
	],
	[
		"PlanNotReady",
		{
			work: {
				fault: { reason: "ConfigMapNotFound" as const, message: "None." },
			},
		},
	],
	[
		"LabelNotAllowed",
		{
			operation: operationOf(undefined, {
				jobTemplate: {
					activeDeadlineSeconds: 60,
					retries: 0,
					labels: { app: "payments" },
				},
			}),
		},
	],
	[
		"AnnotationNotAllowed",
		{
			operation: operationOf(undefined, {
				jobTemplate: {
					activeDeadlineSeconds: 60,
					retries: 0,
					annotations: { "inject.example/image": "theirs" },
				},
			}),
		},
	],
])("an Operation waits for an hour: %s", (reason, changes) => {
	const state = stateOf(changes);
	const actions = decide(state, now);
	expect(reasonOf(actions)).toBe(reason);
	expect(statusOf(actions).phase).toBe("Pending");
	expect(actions.at(-1)).toEqual({ type: "requeueAfter", afterMs: hour });
	const waiting = { ...state.operation, status: statusOf(actions) };
	const late = decide({ ...state, operation: waiting }, now + hour);
	expect(reasonOf(late, "Failed")).toBe("PendingDeadlineExceeded");
	// Nor does it start when archive has answered meanwhile.
	const { answered } = answeredWith(stateOf(), answer, now);
	expect(types(decide({ ...state, answered }, now))).not.toContain("startJob");
});

test("the Job gets the plan and the manifest's link, which no status shows", () => {
	const actions = decide(answeredWith(stateOf(), answer, now), now);
	expect(types(actions)).toEqual([
		"startJob",
		"writeStatus",
		"startJob",
		"recordKubeEvent",
	]);
	// Kubernetes says whether it takes the Job before the status says that the Operation works.
	expect(actions[0]).toMatchObject({ dryRun: true });
	expect(actions[2]).toMatchObject({ dryRun: false });
	const status = statusOf(actions);
	expect(status).toMatchObject({
		phase: "Running",
		dates: { start: "2026-03-25", end: "2026-03-31" },
		snapshotTime: answer.ok && answer.snapshotTime,
		sourceKey: "5".repeat(32),
		planVersion: expect.stringMatching(/^[0-9a-f]{16}$/),
	});
	expect(JSON.stringify(status)).not.toContain("signature");
	const start = actions[2]!;
	if (start.type !== "startJob") throw new Error();
	const { job, secret } = start.job;
	expect(job.metadata).toMatchObject({
		name: "try-operation",
		labels: { "tidemill.dev/operation": "try" },
	});
	expect(job.spec).toMatchObject({
		activeDeadlineSeconds: 3600,
		backoffLimit: 3,
	});
	const text = Buffer.from(secret.data!["input.json"]!, "base64").toString();
	expect(JSON.parse(text)).toMatchObject({
		operation: {
			name: "try",
			uid: "uid-try",
			account: "shop",
			source: "orders",
		},
		work: {
			type: "DryRun",
			plan: { account: "shop", plan: "try", eventType: { constant: "order" } },
		},
		manifestURL: answer.ok && answer.url,
	});
});

test("a plan that no Job's input can hold fails the Operation before archive is asked", () => {
	const operation = operationOf();
	operation.spec.plan!.inline!.common = { description: "x".repeat(1_000_000) };
	const actions = decide(stateOf({ operation }), now);
	expect(statusOf(actions).error?.code).toBe("PlanTooLarge");
	expect(types(actions)).not.toContain("askManifest");
});

test("archive's refusal is final or tried again, as archive says", () => {
	const refusal = (retryable: boolean): ManifestAnswer => ({
		ok: false,
		error: { code: "SourceDeleted", message: "Gone.", retryable },
	});
	expect(
		statusOf(decide(answeredWith(stateOf(), refusal(false), now), now)).phase,
	).toBe("Failed");
	const again = decide(answeredWith(stateOf(), refusal(true), now), now);
	expect(reasonOf(again)).toBe("ManifestUnavailable");
	expect(types(again)).toContain("requeueAfter");
});

test("an Operation whose Job Kubernetes refuses waits without a start time", () => {
	const operation = operationOf({ startTime: "2026-03-31T12:00:10Z" });
	const state = answeredWith(stateOf({ operation }), answer, now);
	const refusal = refusalOf("No quota.");
	const actions = decide({ ...state, refusal }, now);
	expect(reasonOf(actions)).toBe("JobNotStarted");
	expect(statusOf(actions).startTime).toBeUndefined();
});

test("a Job that has succeeded is recorded once archive has answered with its report", () => {
	const operation = operationOf(begun);
	const { stored, ...ended } = done;
	const asking = decide(stateOf({ operation, ...ended }), now);
	expect(asking).toEqual([
		{
			type: "askResult",
			shard: 3,
			question: { run: "uid-try", account: "shop", sourceKey: "5".repeat(32) },
		},
	]);
	const actions = decide(stateOf({ operation, ...ended, stored }), now);
	expect(types(actions)).toEqual([
		"writeStatus",
		"recordKubeEvent",
		"removeJob",
	]);
	const { version, type, otherFindings, ...dryRun } = report as Extract<
		OperationReport,
		{ type: "DryRun" }
	>;
	expect(statusOf(actions)).toMatchObject({
		phase: "Succeeded",
		summary: "5 events: 2 planned, 1 annotated, 1 quarantined, 1 rejected",
		dryRun,
		completionTime: "2026-03-31T11:59:00Z",
	});
});

test("failIfBlocked fails a dry run that would have quarantined or rejected, and keeps its result", () => {
	const operation = operationOf(begun, { failIfBlocked: true });
	const blocked = decide(stateOf({ operation, ...done }), now);
	expect(reasonOf(blocked, "Failed")).toBe("EventsBlocked");
	expect(statusOf(blocked)).toMatchObject({
		phase: "Failed",
		error: { code: "EventsBlocked" },
		dryRun: { quarantined: 1, rejected: 1 },
	});
	const fine = { ...report, quarantined: 0, rejected: 0 };
	const stored = { ok: true as const, report: JSON.stringify(fine) };
	const actions = decide(stateOf({ operation, ...done, stored }), now);
	expect(statusOf(actions).phase).toBe("Succeeded");
});

test("while archive is silent the report is waited for, and at last the Operation fails", () => {
	const operation = operationOf(begun);
	const error = { code: "ResultUnavailable", message: "?", retryable: true };
	const state = stateOf({ operation, ...done, stored: { ok: false, error } });
	expect(reasonOf(decide(state, now))).toBe("Working");
	const late = decide(state, now + hour);
	expect(statusOf(late).error?.code).toBe("ResultMissing");
});

test("a Job that failed is recorded with its error, and one without a Pod is looked up", () => {
	const operation = operationOf(begun);
	const error = { code: "PlanInvalid", message: "No.", retryable: false };
	const failed = podWith({ version: 1, outcome: "Failed", error }, 65);
	const actions = decide(
		stateOf({ operation, job: jobWith("Failed"), pods: [failed] }),
		now,
	);
	expect(statusOf(actions)).toMatchObject({ phase: "Failed", error });
	const gone = stateOf({ operation, job: jobWith("Failed") });
	expect(types(decide(gone, now))).toEqual(["askResult"]);
});

test("what each failed attempt said stays in the status, while the next works and once the last has ended", () => {
	const operation = operationOf(begun);
	const error = { code: "StoreBusy", message: "busy", retryable: true };
	const attempt = (name: string, minute: number, log: string) => {
		const failed = podWith({ version: 1, outcome: "Failed", error, log }, 75);
		const creationTimestamp = `2026-03-31T11:5${minute}:00Z`;
		failed.metadata = { ...failed.metadata, name, creationTimestamp };
		return failed;
	};
	const first = attempt("first", 0, "one\n");
	const next = { ...attempt("next", 1, ""), status: { phase: "Running" } };
	const recorded = { pod: "first", code: "StoreBusy", log: "one\n" };
	const working = stateOf({ operation, job: jobWith(), pods: [first, next] });
	expect(statusOf(decide(working, now))).toMatchObject({
		failedAttempts: [recorded],
	});
	const pods = [first, attempt("next", 1, "two\n")];
	const over = stateOf({ operation, job: jobWith("Failed"), pods });
	expect(statusOf(decide(over, now))).toMatchObject({
		phase: "Failed",
		failedAttempts: [recorded],
		log: "two\n",
	});
});

test("expired links start the Operation over, while it has time", () => {
	const operation = operationOf(begun);
	const error = { code: "ManifestExpired", message: "Old.", retryable: false };
	const failed = podWith({ version: 1, outcome: "Failed", error }, 65);
	const state = stateOf({ operation, job: jobWith("Failed"), pods: [failed] });
	const actions = decide(state, now);
	expect(types(actions)).toEqual(["writeStatus", "removeJob"]);
	const again = decide(
		stateOf({ operation: operationOf(statusOf(actions)) }),
		now,
	);
	expect(again.at(-1)).toMatchObject({ question: { renew: true } });
	expect(statusOf(decide(state, now + hour)).phase).toBe("Failed");
});

test("spec.cancel ends an Operation with and without a Job", () => {
	for (const job of [undefined, jobWith()]) {
		const operation = operationOf(job && begun, { cancel: true });
		const actions = decide(stateOf({ operation, job }), now);
		expect(statusOf(actions).phase).toBe("Cancelled");
		expect(types(actions)).toContain("removeJob");
	}
});

test("an Operation whose Job somebody deleted fails", () => {
	const actions = decide(stateOf({ operation: operationOf(begun) }), now);
	expect(statusOf(actions).error?.code).toBe("JobDeleted");
});

test("an ended Operation goes after its time, and the oldest beyond twenty at once", () => {
	const endedAt = (time: string, name?: string) =>
		operationOf({ completionTime: `2026-03-31T${time}Z` }, {}, name);
	const operation = endedAt("11:30:00");
	const one = stateOf({ operation, ended: [operation] });
	expect(decide(one, now)).toEqual([
		{ type: "requeueAfter", afterMs: hour / 2 - 10_000 },
	]);
	expect(decide(one, now + hour)).toEqual([
		{ type: "delete", object: operation },
	]);
	const others = Array.from({ length: 20 }, (_, index) =>
		endedAt(`11:${10 + index}:30`, `other-${index}`),
	);
	const many = stateOf({ operation, ended: [...others, operation] });
	expect(decide(many, now)).toEqual([
		{ type: "delete", object: others[0] },
		{ type: "requeueAfter", afterMs: hour / 2 - 10_000 },
	]);
	// Also of itself, and whatever it left.
	const oldest = stateOf({
		operation: others[0]!,
		ended: [...others, operation],
		job: jobWith("Complete"),
	});
	expect(decide(oldest, now)).toEqual([
		{ type: "removeJob" },
		{ type: "delete", object: others[0] },
	]);
});

const { plan: _, ...unplanned } = operationOf().spec;
const releaseOf = (spec: Partial<OperationSpec> = {}) => {
	const operation = operationOf();
	operation.spec = { ...unplanned, type: "Release", ...spec };
	return operation;
};

test("archive is asked to release what the filter names of all kept days, without a Job", () => {
	const filter = { types: ["paid"], kinds: ["TypeMismatch"] };
	const operation = releaseOf({ filter });
	const actions = decide(stateOf({ operation }), now);
	expect(types(actions)).toEqual(["writeStatus", "askRelease"]);
	expect(statusOf(actions).phase).toBe("Running");
	expect(actions[1]).toMatchObject({
		shard: 3,
		question: {
			operation: "uid-try",
			account: "shop",
			sourceKey: "5".repeat(32),
			start: "2026-03-01",
			end: "2026-03-31",
			filter,
		},
	});
	const dates = { start: "2026-03-07", end: "2026-03-08" };
	const some = stateOf({ operation: releaseOf({ dates }) });
	expect(decide(some, now)[1]).toMatchObject({ question: dates });
});

test("a Release ends with what archive says: done, refused, or tried again", () => {
	const operation = releaseOf();
	const dates = [
		{ date: "2026-03-07", events: 1 },
		{ date: "2026-03-08", events: 2 },
	];
	const decideReleased = (answer: AdditionAnswer) =>
		decide(answeredWith(stateOf({ operation }), answer, now), now);
	const done = decideReleased({ ok: true, dates });
	expect(statusOf(done)).toMatchObject({
		phase: "Succeeded",
		summary: "3 events of 2 dates released",
		release: { events: 3, dates },
		completionTime: "2026-03-31T12:00:10Z",
	});
	const error = { code: "ReleasesTooMany", message: "No.", retryable: false };
	const refused = decideReleased({ ok: false, error });
	expect(reasonOf(refused, "Failed")).toBe("ReleaseRefused");
	const busy = { ok: false as const, error: { ...error, retryable: true } };
	const again = decideReleased(busy);
	expect(reasonOf(again)).toBe("ReleaseUnavailable");
	expect(types(again)).toContain("requeueAfter");
});

test("an Operation that has queued for more than an hour waits on when Kubernetes refuses its Job, as a Run does", () => {
	const late = now + 61 * 60_000;
	const queued = operationOf({
		phase: "Pending",
		conditions: [
			{
				type: "Complete",
				status: "False",
				reason: "Queued",
				message: "1 Job comes first.",
				lastTransitionTime: "2026-03-31T12:00:10Z",
			},
		],
	});
	const state = answeredWith(stateOf({ operation: queued }), answer, late);
	const refusal = refusalOf("exceeded quota", { at: late });
	const refused = decide({ ...state, refusal }, late);
	expect(reasonOf(refused)).toBe("JobNotStarted");
	expect(statusOf(refused).pendingSince).toBe("2026-03-31T13:01:10Z");
	// From then on it has an hour.
	const operation = { ...queued, status: statusOf(refused) };
	const last = decide({ ...state, operation, refusal }, late + hour);
	expect(reasonOf(last, "Failed")).toBe("PendingDeadlineExceeded");
});

test("an Operation whose Pod is gone still says what it waits for, and so does its error when its time is over", () => {
	const pod = podWith(undefined, 0);
	pod.status = {
		phase: "Pending",
		conditions: [
			{ type: "PodScheduled", status: "False", message: "No node." },
		],
	};
	const waits = decide(
		stateOf({ operation: operationOf(begun), job: jobWith(), pods: [pod] }),
		now,
	);
	expect(reasonOf(waits)).toBe("PodWaiting");
	const operation = operationOf({ ...begun, ...statusOf(waits) });
	const gone = decide(stateOf({ operation, job: jobWith() }), now);
	expect(reasonOf(gone)).toBe("PodWaiting");
	const job = jobWith("Failed");
	job.status!.conditions![0]!.reason = "DeadlineExceeded";
	const stored = { ok: true } as const;
	const over = decide(stateOf({ operation, job, stored }), now);
	expect(statusOf(over).error?.message).toContain(
		"Last it waited for: No node.",
	);
});
