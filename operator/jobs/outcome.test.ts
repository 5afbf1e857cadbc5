import { expect, test } from "vitest";
import type { JobResult } from "../../packages/contracts/job.ts";
import type { Job, Pod } from "../../packages/kube/kinds.ts";
import { terminated } from "../../test/support/doubles/kubernetes/terminated-pod.ts";
import { jobOutcome } from "./outcome.ts";

const at = "2026-03-01T12:00:00Z";
const ended = (type: "Complete" | "Failed", message = ""): Job => ({
	metadata: { name: "job" },
	status: {
		conditions: [{ type, status: "True", message, lastTransitionTime: at }],
	},
});
const pod = (second: number, status: NonNullable<Pod["status"]>): Pod => ({
	metadata: {
		name: `pod-${second}`,
		creationTimestamp: new Date(Date.parse(at) + second * 1000).toISOString(),
	},
	status,
});
const exited = (exitCode: number, message: string, reason = "Error") =>
	terminated({ exitCode, message, reason });
const succeeded: JobResult = {
	version: 1,
	outcome: "Succeeded",
	rows: 3,
	bytes: 9,
	objects: 1,
};
const busy: JobResult = {
	version: 1,
	outcome: "Failed",
	error: { code: "DestinationBusy", message: "in use", retryable: true },
};

test("the log's end of the attempt that counts comes with the result", () => {
	const withLog = (result: JobResult, log: unknown) =>
		JSON.stringify({ ...result, log });
	const first = pod(0, exited(75, withLog(busy, "first\n")));
	const last = pod(1, exited(75, withLog(busy, "last\n")));
	expect(jobOutcome(ended("Failed"), [first, last])).toMatchObject({
		result: { ...busy, log: "last\n" },
	});
	const good = pod(1, exited(0, withLog(succeeded, "good\n")));
	expect(jobOutcome(ended("Complete"), [first, good])).toMatchObject({
		result: { ...succeeded, log: "good\n" },
	});
	const odd = pod(1, exited(0, withLog(succeeded, { not: "text" })));
	expect(jobOutcome(ended("Complete"), [odd])).toMatchObject({
		result: succeeded,
	});
});

test("a Job without an end has no result", () => {
	expect(jobOutcome({ metadata: { name: "job" } }, [])).toEqual({
		finished: false,
	});
});

test("a success counts before Kubernetes says that the Job is complete; a failure waits, since another attempt may follow", () => {
	const job: Job = { metadata: { name: "job" } };
	const complete = ended("Complete");
	const failed = pod(0, exited(75, JSON.stringify(busy)));
	const endedPod = (exitCode: number, message: string, phase: string) =>
		pod(9, { ...exited(exitCode, message, "Completed"), phase });
	const good = endedPod(0, JSON.stringify(succeeded), "Succeeded");
	const before = jobOutcome(job, [failed, good]);
	expect(before).toMatchObject({ finished: true, result: succeeded });
	// A check is removed once this end of it is recorded.
	expect(jobOutcome(complete, [failed, good])).toEqual(before);
	for (const odd of [
		failed,
		endedPod(0, "no result", "Succeeded"),
		endedPod(1, JSON.stringify(succeeded), "Failed"),
		endedPod(0, JSON.stringify(succeeded), "Running"),
	])
		expect(jobOutcome(job, [odd])).toEqual({ finished: false });
});

test("a Pod that can't start says what it waits for", () => {
	const message = 'persistentvolumeclaim "files" not found';
	expect(
		jobOutcome({ metadata: { name: "job" } }, [
			pod(0, {
				conditions: [{ type: "PodScheduled", status: "False", message }],
			}),
		]),
	).toEqual({ finished: false, waitingFor: message });
});

test("the result is the termination message of the last Pod", () => {
	const pods = [
		pod(9, exited(75, JSON.stringify(busy))),
		pod(0, exited(1, "boom")),
	];
	expect(jobOutcome(ended("Failed"), pods)).toEqual({
		finished: true,
		at,
		result: busy,
	});
});

test("a success counts, whichever Pod has it", () => {
	const pods = [
		pod(0, exited(0, JSON.stringify(succeeded), "Completed")),
		pod(9, { phase: "Pending" }),
	];
	expect(jobOutcome(ended("Complete"), pods)).toMatchObject({
		result: succeeded,
	});
});

test.each<[string, Pod["status"], string, string]>([
	[
		"a process that was killed for its memory",
		exited(137, "", "OOMKilled"),
		"OOMKilled",
		"The process exceeded its memory limit. Raise the memory in the Pipeline's spec.runTemplate.resources. The process ended with exit code 137.",
	],
	[
		"a Pod that was evicted",
		{ phase: "Failed", reason: "Evicted", message: "Node had no memory left" },
		"Evicted",
		"The node ran short of resources. Request what the Pod needs in the Pipeline's spec.runTemplate.resources. Node had no memory left.",
	],
	[
		"a Pod whose node was lost",
		{ phase: "Failed", reason: "NodeLost", message: "Node n is gone" },
		"NodeLost",
		"Job has reached the specified backoff limit. Node n is gone.",
	],
	[
		"a process that could not be started",
		exited(128, "exec: tidemill: not found", "StartError"),
		"StartError",
		"The process ended with exit code 128. exec: tidemill: not found.",
	],
	[
		"a process that could not be started, without the addresses that the kubelet met",
		exited(
			128,
			'failed to create containerd task: Post "https://robot:s3cret@registry.platform.example/v2/": dial tcp 10.0.7.9:443: refused',
			"StartError",
		),
		"StartError",
		'failed to create containerd task: Post "<address>": dial tcp <address>: refused.',
	],
	[
		"a Pod that was evicted, without the address of its node",
		{
			phase: "Failed",
			reason: "Evicted",
			message: "The node n1 (10.0.7.9:10250) was low on resource: memory",
		},
		"Evicted",
		"The node n1 (<address>) was low on resource: memory.",
	],
	[
		"a Pod that its node refused, without its address",
		{
			phase: "Failed",
			reason: "NodeAffinity",
			message: "Pod was rejected by 10.0.7.9",
		},
		"NodeAffinity",
		"Pod was rejected by <address>.",
	],
	[
		"a process that left no result",
		exited(1, ""),
		"ResultMissing",
		"The process ended with exit code 1.",
	],
	[
		"a process that left other text",
		exited(139, "Segmentation fault"),
		"ResultMissing",
		"The process ended with exit code 139. It wrote: Segmentation fault.",
	],
	[
		"a process whose own heap was full",
		exited(
			134,
			"FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n----- Native stack trace -----\n",
		),
		"OOMKilled",
		"The process exceeded its memory limit. Raise the memory in the Pipeline's spec.runTemplate.resources. The process ended with exit code 134.",
	],
	[
		"a process that wrote much",
		exited(134, `${"line\n".repeat(200)}out of memory`),
		"ResultMissing",
		"out of memory.",
	],
	[
		"a result that was cut off",
		exited(75, JSON.stringify(busy).slice(0, 40)),
		"ResultMissing",
		'It wrote: {"version":1,"outcome":"Failed","error":.',
	],
	[
		"a result of another version",
		exited(0, '{"version":2}', "Completed"),
		"ResultMissing",
		'It wrote: {"version":2}.',
	],
	[
		"a result without its error",
		exited(65, '{"version":1}'),
		"ResultMissing",
		"exit code 65",
	],
	[
		"a failure without its code",
		exited(65, '{"version":1,"outcome":"Failed","error":{}}'),
		"ResultMissing",
		"exit code 65",
	],
	[
		"a success without its number of rows",
		exited(0, '{"version":1,"outcome":"Succeeded"}', "Completed"),
		"ResultMissing",
		"exit code 0",
	],
	["a result that is null", exited(65, "null"), "ResultMissing", "null"],
])("the error names %s", (_, status, code, words) => {
	const job = ended("Failed", "Job has reached the specified backoff limit");
	const outcome = jobOutcome(job, [pod(0, status!)]);
	if (!outcome.finished || outcome.result.outcome !== "Failed")
		throw new Error(JSON.stringify(outcome));
	expect(outcome.result.error.code).toBe(code);
	expect(outcome.result.error.message).toContain(words);
});

test("a process that ended well without a result did not succeed", () => {
	const pods = [pod(0, exited(0, "", "Completed"))];
	expect(jobOutcome(ended("Complete"), pods)).toMatchObject({
		result: { outcome: "Failed", error: { code: "ResultMissing" } },
	});
});

test("a Job that ran out of time says so, whatever result its process wrote at the end", () => {
	const stopped = { code: "Stopped", message: "Told to end.", retryable: true };
	const left = { version: 1, outcome: "Failed", error: stopped };
	const job = ended("Failed", "Job was active longer than specified deadline");
	job.status!.conditions![0]!.reason = "DeadlineExceeded";
	const pods = [pod(0, exited(75, JSON.stringify(left)))];
	expect(jobOutcome(job, pods)).toMatchObject({
		result: {
			error: {
				code: "DeadlineExceeded",
				message: expect.stringContaining("said Stopped: Told to end."),
			},
		},
	});
	expect(jobOutcome(job, [])).toMatchObject({
		result: { error: { code: "DeadlineExceeded" } },
	});
});

test("a Job that never had a Pod says where to look", () => {
	expect(jobOutcome(ended("Failed", "quota"), [])).toMatchObject({
		result: { error: { message: expect.stringContaining("Job's Events") } },
	});
});

test.each<[string, Job, Pod[]]>([
	["no Pod is left", ended("Complete"), []],
	[
		"only the Pod of an earlier attempt is left",
		ended("Complete"),
		[pod(0, exited(75, JSON.stringify(busy)))],
	],
	[
		"the Pod went before it said anything",
		ended("Failed"),
		[pod(0, { phase: "Failed" })],
	],
])("if %s, what the Job stored counts", (_, job, pods) => {
	expect(jobOutcome(job, pods)).toMatchObject({
		result: { outcome: "Failed" },
		isPodGone: true,
	});
	expect(jobOutcome(job, pods, JSON.stringify(succeeded))).toEqual({
		finished: true,
		at,
		result: succeeded,
	});
});

test("a stored failure counts only if the Job has failed: a later attempt may have succeeded", () => {
	const stored = JSON.stringify(busy);
	expect(jobOutcome(ended("Failed"), [], stored)).toMatchObject({
		result: busy,
	});
	const complete = jobOutcome(ended("Complete"), [], stored);
	expect(complete).not.toMatchObject({ result: busy });
});

test("what a Pod says itself needs no other place", () => {
	const pods = [pod(0, exited(137, "", "OOMKilled"))];
	expect(jobOutcome(ended("Failed"), pods)).not.toHaveProperty("isPodGone");
	const good = [pod(0, exited(0, JSON.stringify(succeeded)))];
	expect(jobOutcome(ended("Complete"), good)).not.toHaveProperty("isPodGone");
});

test("a stored text that is no result is none", () => {
	expect(jobOutcome(ended("Complete"), [], "{}")).toHaveProperty("isPodGone");
});

const sidecar = (state: object) => ({
	name: "istio-proxy",
	image: "",
	imageID: "",
	ready: true,
	restartCount: 0,
	state,
});
const beside = (status: NonNullable<Pod["status"]>, state: object) =>
	pod(0, {
		...status,
		phase: "Running",
		containerStatuses: [sidecar(state), ...status.containerStatuses!],
	});
const goesOn = { running: { startedAt: at } };

test("a process that ended beside a sidecar that goes on has ended its Job", () => {
	const job: Job = { metadata: { name: "job" } };
	const good = beside(exited(0, JSON.stringify(succeeded)), goesOn);
	// A Run that ended in 1970 would be older than any history.
	expect(jobOutcome(job, [good])).toMatchObject({
		result: succeeded,
		at: good.metadata.creationTimestamp,
	});
	const bad = beside(exited(65, JSON.stringify(busy)), goesOn);
	expect(jobOutcome(job, [bad])).toMatchObject({ result: busy });
	const killed = beside(exited(137, "", "OOMKilled"), goesOn);
	expect(jobOutcome(job, [killed])).toMatchObject({
		result: { error: { code: "OOMKilled" } },
	});
	// A kubelet reports the end of all containers before that of the Pod.
	const ends = beside(exited(0, JSON.stringify(succeeded)), {
		terminated: { exitCode: 0 },
	});
	expect(jobOutcome(job, [ends])).toEqual({ finished: false });
	const running = pod(0, {
		phase: "Running",
		containerStatuses: [sidecar({ terminated: { exitCode: 1 } })],
	});
	expect(jobOutcome(job, [running])).toEqual({ finished: false });
});

test("a Pod waits for the containers that others put before ours", () => {
	const waits = (reason: string) => ({ waiting: { reason } });
	const status = (first: string) => ({
		phase: "Pending",
		containerStatuses: [
			{ ...sidecar(waits("PodInitializing")) },
			{ ...sidecar(waits("PodInitializing")), name: "tidemill" },
		],
		initContainerStatuses: [sidecar(waits(first))],
	});
	const job: Job = { metadata: { name: "job" } };
	expect(jobOutcome(job, [pod(0, status("ImagePullBackOff"))])).toEqual({
		finished: false,
		waitingFor: "ImagePullBackOff",
	});
	expect(jobOutcome(job, [pod(0, status("ContainerCreating"))])).toEqual({
		finished: false,
	});
});
