import { setTimeout as delay } from "node:timers/promises";
import { retryDelayMs } from "../retry.ts";
import type { Job } from "./api.ts";
import { BigQueryRefusal } from "./refusal.ts";

/** How a job is reached in BigQuery. */
export interface JobDesk {
	/** The job of an id; undefined when there is none. */
	find(jobId: string): Promise<Job | undefined>;
	/** Throws {@link BigQueryRefusal} of reason `duplicate` when there is one. */
	start(jobId: string): Promise<Job>;
}

/** What to do about one attempt, from what BigQuery knows of its job. */
export type Move = "Start" | "Wait" | "Done" | "NextAttempt";

/**
 * The number of the attempt rises only after that job ended in error (or wrote to a table that is gone since), so that
 * two that do the same, one after the other or at once, have one job.
 * @param tableCreatedMs when the table that the job writes to was made.
 */
export function moveFor(job: Job | undefined, tableCreatedMs: number): Move {
	if (!job) return "Start";
	if (job.status?.state !== "DONE") return "Wait";
	if (job.status.errorResult) return "NextAttempt";
	const createdMs = Number(job.statistics?.creationTime ?? Infinity);
	return createdMs < tableCreatedMs ? "NextAttempt" : "Done";
}

/** Jobs that one process starts for the same data, before it gives up: each counts against the table's 1,500 a day. */
const maxStarts = 3;

/**
 * Brings a job to its end, whoever started it: waits for one that is under way, takes one that has succeeded for done,
 * and starts another after one that failed. Throws {@link BigQueryRefusal} of the last that this process started.
 */
export async function completeJob(
	desk: JobDesk,
	idOf: (attempt: number) => string,
	tableCreatedMs: number,
	signal: AbortSignal,
): Promise<Job> {
	let started = 0;
	for (let attempt = 1; ; attempt++) {
		const jobId = idOf(attempt);
		let job = await desk.find(jobId);
		let isOurs = false;
		if (moveFor(job, tableCreatedMs) === "Start") {
			({ job, isOurs } = await startOrFind(desk, jobId));
			if (isOurs) started++;
		}
		job =
			moveFor(job, tableCreatedMs) === "Wait"
				? await untilEnded(() => desk.find(jobId), signal)
				: job;
		if (job && moveFor(job, tableCreatedMs) === "Done") return job;
		if (!isOurs) continue;
		const refusal = new BigQueryRefusal(0, job?.status?.errorResult ?? {});
		if (!refusal.isTransient || started >= maxStarts) throw refusal;
		await delay(retryDelayMs(started + 1, Math.random()), undefined, {
			signal,
		});
	}
}

async function startOrFind(
	desk: JobDesk,
	jobId: string,
): Promise<{ job: Job; isOurs: boolean }> {
	try {
		return { job: await desk.start(jobId), isOurs: true };
	} catch (error) {
		const isDuplicate =
			error instanceof BigQueryRefusal && error.reason === "duplicate";
		const job = isDuplicate ? await desk.find(jobId) : undefined;
		if (!job) throw error;
		return { job, isOurs: false };
	}
}

/** The job when it has ended; undefined when there is none. */
export async function untilEnded(
	find: () => Promise<Job | undefined>,
	signal: AbortSignal,
): Promise<Job | undefined> {
	for (let waitMs = 100; ; waitMs = Math.min(waitMs * 1.5, 5_000)) {
		const job = await find();
		if (!job || job.status?.state === "DONE") return job;
		await delay(waitMs, undefined, { signal });
	}
}
