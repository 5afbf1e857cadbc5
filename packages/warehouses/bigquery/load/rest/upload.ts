import { open } from "node:fs/promises";
import type { Logger } from "../../../../service/log.ts";
import { pauseAfter } from "../../../load/retry.ts";
import { GoogleRefusal, patienceFor } from "./google-refusal.ts";
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
	/** Called before the request that may complete the upload. If it throws, the upload ends and nothing comes of it. */
	beforeStart?: (() => Promise<void>) | undefined;
}

/** What a file becomes: a job of BigQuery, or an object of Cloud Storage. */
export interface UploadTarget {
	path: string;
	query?: Record<string, string>;
	/** The body of the first request. */
	resource: object;
	/** For people. */
	name: string;
}

/**
 * Sends a file by Google's resumable upload (cloud.google.com/storage/docs/performing-resumable-uploads,
 * cloud.google.com/bigquery/docs/reference/api-uploads). What it becomes exists once the last byte has arrived, not before.
 * Returns the answer to the last byte. Throws {@link GoogleRefusal}: for a job with reason `duplicate` if it exists.
 */
export async function upload<T>(
	client: RestClient,
	target: UploadTarget,
	file: string,
	options: UploadOptions,
): Promise<T> {
	await using handle = await open(file);
	const { size } = await handle.stat();
	const { name } = target;
	let session: string | undefined;
	let offset = 0;
	let isOffsetKnown = true;
	let restarts = 0;
	for (let failures = 0; ; ) {
		try {
			session ??= await startSession(client, target, size);
			const chunk = isOffsetKnown
				? await read(handle, offset, size)
				: Buffer.alloc(0);
			if (offset + chunk.length === size) await options.beforeStart?.();
			const response = await client.send({
				method: "PUT",
				path: session,
				headers: { "content-range": range(offset, chunk.length, size) },
				body: chunk,
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
			if (response.ok) return JSON.parse(text) as T;
			throw client.refusal(response, text);
		} catch (error) {
			options.signal.throwIfAborted();
			const isLost = isSessionLost(error) && restarts++ < maxRestarts;
			if (!(isLost || isTransient(error)) || ++failures >= maxFailures)
				throw error;
			options.log.warn(
				{ name, offset, reason: (error as Error).message },
				"an upload was interrupted; resuming it",
			);
			if (isLost) [session, offset] = [undefined, 0];
			isOffsetKnown = session === undefined;
			await pauseAfter(patienceFor(error), failures, options.signal);
		}
	}
}

async function startSession(
	client: RestClient,
	{ path, query = {}, resource }: UploadTarget,
	size: number,
): Promise<string> {
	const response = await client.send({
		method: "POST",
		path,
		query: { uploadType: "resumable", ...query },
		headers: {
			"x-upload-content-type": "application/octet-stream",
			"x-upload-content-length": String(size),
		},
		body: resource,
	});
	const text = await response.text();
	if (!response.ok) throw client.refusal(response, text);
	const session = response.headers.get("location");
	if (session) return session;
	throw new GoogleRefusal(502, {
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
	return error instanceof GoogleRefusal && [404, 410].includes(error.status);
}
