import { open } from "node:fs/promises";
import type { Logger } from "../../../../service/log.ts";
import { pauseAfter } from "../../../load/failure.ts";
import type { WarehouseContext } from "../../../load/warehouse.ts";
import type { BigQueryInput } from "../../definition.ts";
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

/**
 * The Destination's bucket in Cloud Storage, which load jobs read their files from
 * (cloud.google.com/storage/docs/json_api/v1). Objects are named by table and job, so what a killed load leaves is found by
 * the next one. Throws {@link GoogleRefusal}.
 */
export class StagingBucket {
	readonly #client: RestClient;
	readonly #input: BigQueryInput;
	readonly #bucket: string;
	readonly #context: WarehouseContext;

	constructor(
		client: RestClient,
		input: BigQueryInput,
		bucket: string,
		context: WarehouseContext,
	) {
		this.#client = client;
		this.#input = input;
		this.#bucket = bucket;
		this.#context = context;
	}

	/** Stores a job's file, and returns its URI for the job. */
	async upload(table: string, jobId: string, file: string): Promise<string> {
		const name = this.#name(table, jobId);
		const uri = `gs://${this.#bucket}/${name}`;
		await upload(
			this.#client,
			{
				path: `/upload/storage/v1/b/${this.#bucket}/o`,
				query: { name },
				resource: { name, contentType: "application/octet-stream" },
				name: `object ${uri}`,
			},
			file,
			this.#context,
		);
		return uri;
	}

	/** Deletes files of a table's jobs. */
	async deleteFiles(
		table: string,
		isToDelete: (jobId: string) => boolean,
	): Promise<void> {
		const prefix = this.#name(table, "");
		for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
			const page: { items?: { name: string }[]; nextPageToken?: string } =
				await this.#client.call({
					method: "GET",
					path: this.#objects(),
					query: {
						prefix,
						fields: "items(name),nextPageToken",
						...(pageToken && { pageToken }),
					},
				});
			for (const { name } of page.items ?? [])
				if (isToDelete(name.slice(prefix.length))) await this.#delete(name);
			pageToken = page.nextPageToken;
		}
	}

	async #delete(name: string): Promise<void> {
		try {
			await this.#client.call({
				method: "DELETE",
				path: `${this.#objects()}/${encodeURIComponent(name)}`,
			});
		} catch (error) {
			if (!(error instanceof GoogleRefusal) || error.status !== 404)
				throw error;
		}
	}

	#objects(): string {
		return `/storage/v1/b/${this.#bucket}/o`;
	}

	#name(table: string, jobId: string): string {
		const { projectId, dataset } = this.#input;
		return `tidemill/${projectId}.${dataset}.${table}/${jobId}`;
	}
}
