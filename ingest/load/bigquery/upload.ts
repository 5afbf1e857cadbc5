import { open } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "../../../service/backoff.ts";
import type { Logger } from "../../../service/log.ts";
import { retryBackoff } from "../../job/retry.ts";
import type { Job } from "./api.ts";
import { BigQueryRefusal } from "./refusal.ts";
import { isTransient, type RestClient } from "./rest-client.ts";

/** Memory per upload. The protocol requires a multiple of 256 KiB. */
const chunkBytes = 8 * 1024 * 1024;
/** Failures in a row. Bytes that BigQuery has received are not sent again. */
const maxFailures = 8;
/** Upload sessions that one upload may lose. */
const maxRestarts = 2;

export interface UploadOptions {
	log: Logger;
	signal: AbortSignal;
	/** Called before the request that may start the job. If it throws, the upload ends and no job starts. */
	beforeStart?: (() => Promise<void>) | undefined;
}

/**
 * Starts a load job with a file, by BigQuery's resumable upload. The job exists once the last byte has arrived, not
 * before. Throws {@link BigQueryRefusal}, with reason `duplicate` if a job with this id exists.
 */
export async function uploadJob(
	client: RestClient,
	job: Job,
	file: string,
	options: UploadOptions,
): Promise<Job> {
	await using handle = await open(file);
	const { size } = await handle.stat();
	const { jobId, projectId } = job.jobReference;
	const action = `receive the data of job ${jobId}`;
	let session: string | undefined;
	let offset = 0;
	let isOffsetKnown = true;
	let restarts = 0;
	for (let failures = 0; ; ) {
		try {
			session ??= await startSession(client, projectId, job, size, action);
			const chunk = isOffsetKnown
				? await read(handle, offset, size)
				: Buffer.alloc(0);
			if (offset + chunk.length === size) await options.beforeStart?.();
			const response = await client.send({
				method: "PUT",
				path: session,
				headers: { "content-range": range(offset, chunk.length, size) },
				body: chunk,
				action,
			});
			if (response.status === 308) {
				await response.body?.cancel();
				const next = receivedBytes(response);
				if (next > offset) failures = 0;
				offset = next;
				isOffsetKnown = true;
				continue;
			}
			const text = await response.text();
			if (response.ok) return JSON.parse(text) as Job;
			throw BigQueryRefusal.ofAnswer(response.status, text);
		} catch (error) {
			options.signal.throwIfAborted();
			const isLost = isSessionLost(error) && restarts++ < maxRestarts;
			if (!(isLost || isTransient(error)) || ++failures >= maxFailures)
				throw error;
			options.log.warn(
				{ jobId, offset, reason: (error as Error).message },
				"an upload was interrupted; resuming it",
			);
			if (isLost) [session, offset] = [undefined, 0];
			isOffsetKnown = session === undefined;
			await delay(backoffMs(failures, retryBackoff), undefined, options);
		}
	}
}

async function startSession(
	client: RestClient,
	projectId: string,
	job: Job,
	size: number,
	action: string,
): Promise<string> {
	const response = await client.send({
		method: "POST",
		path: `/upload/bigquery/v2/projects/${projectId}/jobs`,
		query: { uploadType: "resumable" },
		headers: {
			"x-upload-content-type": "application/octet-stream",
			"x-upload-content-length": String(size),
		},
		body: job,
		action,
	});
	const text = await response.text();
	if (!response.ok) throw BigQueryRefusal.ofAnswer(response.status, text);
	const session = response.headers.get("location");
	if (session) return session;
	throw new BigQueryRefusal(502, {
		message: "The answer has no upload session.",
	});
}

async function read(
	handle: Awaited<ReturnType<typeof open>>,
	offset: number,
	size: number,
): Promise<Buffer> {
	const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, size - offset));
	for (let filled = 0; filled < chunk.length; ) {
		const { bytesRead } = await handle.read(
			chunk,
			filled,
			chunk.length - filled,
			offset + filled,
		);
		if (bytesRead === 0) throw new Error("The file to upload was truncated");
		filled += bytesRead;
	}
	return chunk;
}

/** A Content-Range header. Without bytes it asks how many have arrived. */
function range(offset: number, length: number, size: number): string {
	return length === 0
		? `bytes */${size}`
		: `bytes ${offset}-${offset + length - 1}/${size}`;
}

function receivedBytes(response: Response): number {
	const last = /bytes=0-(\d+)/.exec(response.headers.get("range") ?? "")?.[1];
	return last === undefined ? 0 : Number(last) + 1;
}

/** A session expires after a week, or earlier for BigQuery's own reasons. The upload then starts over. */
function isSessionLost(error: unknown): boolean {
	return error instanceof BigQueryRefusal && [404, 410].includes(error.status);
}
