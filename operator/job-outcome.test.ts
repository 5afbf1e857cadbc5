import type { V1Job, V1Pod } from "@kubernetes/client-node";
import { expect, test } from "vitest";
import type { JobResult } from "../contracts/job.ts";
import { jobOutcome } from "./job-outcome.ts";

const at = "2026-03-01T12:00:00.000Z";
const ended = (type: "Complete" | "Failed", message = ""): V1Job => ({
	status: {
		conditions: [
			{ type, status: "True", message, lastTransitionTime: new Date(at) },
		],
	},
});
const pod = (second: number, status: NonNullable<V1Pod["status"]>): V1Pod => ({
	metadata: { creationTimestamp: new Date(Date.parse(at) + second * 1000) },
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
	expect(jobOutcome({}, [])).toEqual({ finished: false });
});

test("a Pod that can't start says what it waits for", () => {
	const message = 'persistentvolumeclaim "files" not found';
	expect(
		jobOutcome({}, [
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
