import { expect, test } from "vitest";
import type { JobResult } from "../contracts/job.ts";
import { jobOutcome } from "./job-outcome.ts";
import type { Job, Pod } from "./kube/kinds.ts";

const at = "2026-03-01T12:00:00.000Z";
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
const exited = (exitCode: number, message: string, reason = "Error") => ({
	containerStatuses: [
		{
			name: "tidemill",
			image: "",
			imageID: "",
			ready: false,
			restartCount: 0,
			state: { terminated: { exitCode, message, reason } },
		},
	],
});
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

test("a Job without an end has no result", () => {
	expect(jobOutcome({ metadata: { name: "job" } }, [])).toEqual({
		finished: false,
	});
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

test("a success counts wherever it stands", () => {
	const pods = [
		pod(0, exited(0, JSON.stringify(succeeded), "Completed")),
		pod(9, { phase: "Pending" }),
	];
	expect(jobOutcome(ended("Complete"), pods)).toMatchObject({
		result: succeeded,
	});
});

test("a process that was killed is reported in Kubernetes' words", () => {
	expect(
		jobOutcome(ended("Failed", "Job has reached the specified backoff limit"), [
			pod(0, exited(137, "", "OOMKilled")),
		]),
	).toMatchObject({
		result: {
			outcome: "Failed",
			error: {
				code: "OOMKilled",
				message:
					"Job has reached the specified backoff limit The process ended with OOMKilled (exit code 137).",
			},
		},
	});
});

test("a Job that never had a Pod says where to look", () => {
	expect(jobOutcome(ended("Failed", "deadline"), [])).toMatchObject({
		result: { error: { message: expect.stringContaining("Job's Events") } },
	});
});
