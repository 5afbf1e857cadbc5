import { expect, test } from "vitest";
import type { ErrorProto, Job } from "./api.ts";
import { completeJob, moveFor } from "./load-job.ts";
import { BigQueryRefusal } from "./refusal.ts";

const { signal } = new AbortController();

function job(state: "RUNNING" | "DONE", errorResult?: ErrorProto): Job {
	return {
		jobReference: { projectId: "p", jobId: "1" },
		configuration: {},
		status: { state, ...(errorResult && { errorResult }) },
		statistics: { creationTime: "100" },
	};
}

const failed = job("DONE", { reason: "backendError", message: "" });

test.each([
	["that isn't there", undefined, 0, "Start"],
	["under way", job("RUNNING"), 0, "Wait"],
	["that has succeeded", job("DONE"), 0, "Done"],
	["that has failed", failed, 0, "NextAttempt"],
	["into a table that was made since", job("DONE"), 101, "NextAttempt"],
] as const)("an attempt with a job %s", (_, found, tableCreatedMs, move) => {
	expect(moveFor(found, tableCreatedMs)).toBe(move);
});

test("the attempt after all that failed is started; one that others started meanwhile is waited for", async () => {
	const jobs = new Map([["1", failed]]);
	const started: string[] = [];
	const done = await completeJob(
		{
			find: async (id) => jobs.get(id),
			start: async (id) => {
				started.push(id);
				jobs.set(id, job("DONE"));
				throw new BigQueryRefusal(409, { reason: "duplicate" });
			},
		},
		String,
		0,
		signal,
	);
	expect(started).toEqual(["2"]);
	expect(done).toBe(jobs.get("2"));
});

test("a job that can't succeed is not started again", async () => {
	const refused = job("DONE", { reason: "accessDenied", message: "No." });
	const completion = completeJob(
		{ find: async () => undefined, start: async () => refused },
		String,
		0,
		signal,
	);
	await expect(completion).rejects.toMatchObject({ code: "PermissionDenied" });
});
