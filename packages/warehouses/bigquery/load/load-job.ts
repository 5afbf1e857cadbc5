import { setTimeout as delay } from "node:timers/promises";
import { type Patience, pauseAfter, retryBackoff } from "../../load/retry.ts";
import type { BigQueryJob } from "./rest/api.ts";
import { GoogleRefusal } from "./rest/google-refusal.ts";

/** Finds and starts one BigQuery job by its id. */
export interface JobAccess {
	/** Undefined when there is no such job. */
	find(jobId: string): Promise<BigQueryJob | undefined>;
	/** Throws {@link GoogleRefusal} of reason `duplicate` when the job exists. */
	start(jobId: string): Promise<BigQueryJob>;
}

/** What to do next about one attempt. */
export type NextJobStep = "Start" | "Wait" | "Done" | "NextAttempt";

/**
 * The attempt's number rises only after its job failed, or wrote to a table that has since been deleted. So two processes
 * that do the same work, at once or one after the other, share one job.
 * @param job what BigQuery knows of the attempt's job.
 * @param tableCreatedMs creation time of the table that the job writes to.
 */
export function nextStepFor(
	job: BigQueryJob | undefined,
	tableCreatedMs: number,
): NextJobStep {
	if (!job) return "Start";
	if (job.status?.state !== "DONE") return "Wait";
	if (job.status.errorResult) return "NextAttempt";
	const createdMs = Number(job.statistics?.creationTime ?? Infinity);
	return createdMs < tableCreatedMs ? "NextAttempt" : "Done";
}

/** Jobs that one process starts for the same data before it gives up: BigQuery allows 1,500 load jobs per table and day. */
const usualPatience: Patience = { attempts: 3, backoff: retryBackoff };

/**
 * Completes a job, whichever process started it: waits for a running job, accepts one that succeeded, and starts another
 * after one that failed. Throws the {@link GoogleRefusal} of the last job that this process started.
 */
export async function completeJob(
	jobs: JobAccess,
	idOf: (attempt: number) => string,
	tableCreatedMs: number,
	signal: AbortSignal,
): Promise<BigQueryJob> {
	let started = 0;
	for (let attempt = 1; ; attempt++) {
		const jobId = idOf(attempt);
		let job = await jobs.find(jobId);
		let isOurs = false;
		if (nextStepFor(job, tableCreatedMs) === "Start") {
			({ job, isOurs } = await startOrFind(jobs, jobId));
			if (isOurs) started++;
		}
		job =
			nextStepFor(job, tableCreatedMs) === "Wait"
				? await untilEnded(() => jobs.find(jobId), signal)
				: job;
		if (job && nextStepFor(job, tableCreatedMs) === "Done") return job;
		if (!isOurs) continue;
		const refusal = new GoogleRefusal(0, job?.status?.errorResult ?? {}).with(
			`BigQuery tells more of its job ${jobId}.`,
		);
		const patience = refusal.patience(usualPatience);
		if (!refusal.isTransient || started >= patience.attempts) throw refusal;
		await pauseAfter(patience, started, signal);
	}
}

async function startOrFind(
	jobs: JobAccess,
	jobId: string,
): Promise<{ job: BigQueryJob; isOurs: boolean }> {
	try {
		return { job: await jobs.start(jobId), isOurs: true };
	} catch (error) {
		const isDuplicate =
			error instanceof GoogleRefusal && error.reason === "duplicate";
		const job = isDuplicate ? await jobs.find(jobId) : undefined;
		if (!job) throw error;
		return { job, isOurs: false };
	}
}

/** The job once it has ended; undefined when there is none. */
export async function untilEnded(
	find: () => Promise<BigQueryJob | undefined>,
	signal: AbortSignal,
): Promise<BigQueryJob | undefined> {
	for (let waitMs = 100; ; waitMs = Math.min(waitMs * 1.5, 5_000)) {
		const job = await find();
		if (!job || job.status?.state === "DONE") return job;
		await delay(waitMs, undefined, { signal });
	}
}
