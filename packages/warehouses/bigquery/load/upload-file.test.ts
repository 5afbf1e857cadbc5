import { expect, test } from "vitest";
import {
	type BigQueryJob,
	type ErrorProto,
	GoogleRefusal,
} from "./rest/google-refusal.ts";
import { completeJob, nextStepFor } from "./upload-file.ts";

const { signal } = new AbortController();

function job(state: "RUNNING" | "DONE", errorResult?: ErrorProto): BigQueryJob {
	return {
		jobReference: { projectId: "p", jobId: "1" },
		configuration: {},
		status: { state, ...(errorResult && { errorResult }) },
		statistics: { creationTime: "100" },
	};
}

const failed = job("DONE", { reason: "backendError", message: "" });

test.each([
	["that doesn't exist", undefined, 0, "Start"],
	["that is running", job("RUNNING"), 0, "Wait"],
	["that succeeded", job("DONE"), 0, "Done"],
	["that failed", failed, 0, "NextAttempt"],
	[
		"into a table that has since been recreated",
		job("DONE"),
		101,
		"NextAttempt",
	],
] as const)("an attempt with a job %s", (_, found, tableCreatedMs, step) => {
	expect(nextStepFor(found, tableCreatedMs)).toBe(step);
});

test("the attempt after the failed ones is started, or awaited if another process starts it meanwhile", async () => {
	const jobs = new Map([["1", failed]]);
	const started: string[] = [];
	const done = await completeJob(
		{
			find: async (id) => jobs.get(id),
			start: async (id) => {
				started.push(id);
				jobs.set(id, job("DONE"));
				throw new GoogleRefusal(409, { reason: "duplicate" });
			},
		},
		String,
		0,
		signal,
	);
	expect(started).toEqual(["2"]);
	expect(done).toBe(jobs.get("2"));
});

test("a job that can't succeed is started only once", async () => {
	const refused = job("DONE", { reason: "accessDenied", message: "No." });
	const completion = completeJob(
		{ find: async () => undefined, start: async () => refused },
		String,
		0,
		signal,
	);
	await expect(completion).rejects.toMatchObject({ code: "PermissionDenied" });
});
