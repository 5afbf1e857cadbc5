import { type FileHandle, open } from "node:fs/promises";
import type { IncomingMessage, RequestOptions } from "node:http";
import { crc32 } from "node:zlib";
import {
	type Logger,
	linkErrorId,
	seeLog,
} from "../../packages/service/log.ts";
import {
	type JobErrorCode,
	JobFailure,
	retry,
} from "../../packages/warehouses/load/failure.ts";

/** Written at once. Single chunks of 64 KiB take a tenth more CPU. */
const writeBytes = 512 * 1024;
const silenceMs = 30_000;
const longestMs = 3_600_000;

/** What a presigned link leads to. */
export interface PresignedLink {
	/** For messages, such as "the Run's manifest". */
	name: string;
	/** A secret, which must appear in no error and no log. */
	url: string;
	/** The code of a failure that has no code of its own. */
	unavailable: JobErrorCode;
}

/** Reads presigned links, with a deadline per attempt and retries with backoff. Throws {@link JobFailure}. */
export class LinkReader {
	readonly #log: Logger;
	readonly #signal: AbortSignal;
	readonly #attempts: number;

	constructor(log: Logger, signal: AbortSignal, attempts = 8) {
		this.#log = log;
		this.#signal = signal;
		this.#attempts = attempts;
	}

	/** What becomes of the content. The store may be silent for 30 s, however long the content is. Repeats call `consume` again. */
	async read<T>(
		link: PresignedLink,
		consume: (content: AsyncIterable<Buffer>) => Promise<T>,
	): Promise<T> {
		return this.#get(link, longestMs, async (signal) => {
			const silence = new AbortController();
			const timer = setTimeout(() => {
				silence.abort(new DOMException("silence", "TimeoutError"));
			}, silenceMs);
			const both = AbortSignal.any([signal, silence.signal]);
			try {
				const response = await contentOf(link.url, both);
				return await consume(heard(chunksOf(response, both), timer));
			} finally {
				clearTimeout(timer);
			}
		});
	}

	/** Streams an object of `bytes` bytes into a file. Throws ObjectMismatch if it has another size or checksum. */
	async download(
		link: PresignedLink,
		file: string,
		bytes: number,
	): Promise<void> {
		// At less than 256 KiB/s the link would expire anyway.
		const deadlineMs = 30_000 + Math.ceil(bytes / 256);
		await this.#get(link, deadlineMs, async (signal) => {
			const response = await contentOf(link.url, signal);
			await using target = await open(file, "w");
			const { received, checksum } = await store(response, target, signal);
			if (received !== bytes)
				throw new JobFailure(
					"ObjectMismatch",
					`${received} bytes arrived for ${link.name}, but the manifest says ${bytes}`,
				);
			const expected = checksumOf(response);
			if (expected !== undefined && checksum !== expected)
				throw new JobFailure(
					"ObjectMismatch",
					`The content of ${link.name} doesn't match its checksum in the object store`,
				);
		});
	}

	async #get<T>(
		link: PresignedLink,
		deadlineMs: number,
		read: (signal: AbortSignal) => Promise<T>,
	): Promise<T> {
		try {
			return await retry(
				{
					attempts: this.#attempts,
					signal: this.#signal,
					isTransient,
					onRetry: (error, attempt) =>
						this.#log.warn(
							{ attempt, reason: reasonOf(error) },
							`getting ${link.name} failed; trying again`,
						),
				},
				() =>
					read(
						AbortSignal.any([this.#signal, AbortSignal.timeout(deadlineMs)]),
					),
			);
		} catch (error) {
			this.#signal.throwIfAborted();
			throw toFailure(error, link);
		}
	}
}

/**
 * The answer, whatever its status. By node:http, since fetch takes a third more CPU for an object. Its errors become like those of fetch.
 * An import of node:http makes its WebSocket, and with it all of fetch: a quarter of what a Run's process takes to start.
 */
export async function answerTo(
	url: string,
	signal: AbortSignal,
	{ body, ...options }: RequestOptions & { body?: string | Buffer } = {},
): Promise<IncomingMessage> {
	const { request } = url.startsWith("https:")
		? process.getBuiltinModule("node:https")
		: process.getBuiltinModule("node:http");
	return new Promise<IncomingMessage>((resolve, reject) => {
		request(url, { ...options, signal }, resolve)
			.on("error", reject)
			.end(body);
	}).catch((cause: unknown) => {
		throw failed(cause, signal);
	});
}

/** Throws {@link LinkError} unless the link gives its content. */
async function contentOf(
	url: string,
	signal: AbortSignal,
): Promise<IncomingMessage> {
	const response = await answerTo(url, signal);
	if (response.statusCode === 200) return response;
	let text = "";
	for await (const chunk of chunksOf(response, signal)) text += chunk;
	throw new LinkError(response.statusCode!, text);
}

async function* chunksOf(
	response: IncomingMessage,
	signal: AbortSignal,
): AsyncGenerator<Buffer> {
	try {
		yield* response;
	} catch (error) {
		throw failed(error, signal);
	}
}

/** The same chunks. Each restarts the timer. */
async function* heard(
	chunks: AsyncIterable<Buffer>,
	timer: NodeJS.Timeout,
): AsyncGenerator<Buffer> {
	for await (const chunk of chunks) {
		timer.refresh();
		yield chunk;
	}
}

function failed(cause: unknown, signal: AbortSignal): unknown {
	return signal.aborted
		? signal.reason
		: new TypeError("the request failed", { cause });
}

/** One write goes on while the next chunks arrive, so memory is bounded. */
async function store(
	response: IncomingMessage,
	target: FileHandle,
	signal: AbortSignal,
): Promise<{ received: number; checksum: number }> {
	let [received, checksum, waiting] = [0, 0, 0];
	let chunks: Buffer[] = [];
	let written = Promise.resolve();
	const write = async () => {
		await written;
		written = writeWhole(target, chunks);
		// It is thrown by the next await of it.
		written.catch(() => undefined);
		[chunks, waiting] = [[], 0];
	};
	for await (const chunk of chunksOf(response, signal)) {
		received += chunk.length;
		checksum = crc32(chunk, checksum);
		chunks.push(chunk);
		waiting += chunk.length;
		if (waiting >= writeBytes) await write();
	}
	await write();
	await written;
	return { received, checksum };
}

/** A write may take a part of what it is given (writev(2)). */
async function writeWhole(file: FileHandle, chunks: Buffer[]): Promise<void> {
	if (chunks.length === 0) return;
	const { bytesWritten } = await file.writev(chunks);
	const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
	if (bytesWritten === bytes) return;
	const rest = Buffer.concat(chunks).subarray(bytesWritten);
	for (let at = 0; at < rest.length; )
		at += (await file.write(rest, at)).bytesWritten;
}

/** CRC32 of the whole object, if the answer has it: archive writes it with each object and requests it in its links. */
function checksumOf({ headers }: IncomingMessage): number | undefined {
	const base64 = headers["x-amz-checksum-crc32"];
	// A multipart checksum such as "…-2" is of the parts, not of the whole.
	return typeof base64 === "string" && base64.length === 8
		? Buffer.from(base64, "base64").readUInt32BE()
		: undefined;
}

/** The object store answered with an error. */
export class LinkError extends Error {
	readonly status: number;
	readonly expired: boolean;

	/**
	 * S3 answers an expired link with 403 and "expired" in its XML, and a link whose temporary credentials have expired with
	 * 400. The XML may hold secrets, so only its code is kept.
	 */
	constructor(status: number, body: string) {
		const xml = body.slice(0, 4096);
		const code = /<Code>(\w+)<\/Code>/.exec(xml)?.[1];
		super(`HTTP status ${status}${code ? ` (${code})` : ""}`);
		this.status = status;
		this.expired =
			code === "ExpiredToken" || (status === 403 && /expired/i.test(xml));
	}
}

function isTransient(error: unknown): boolean {
	if (error instanceof LinkError)
		return error.status >= 500 || [408, 425, 429].includes(error.status);
	// A truncated body looks like this. If it persists, the last attempt fails.
	if (error instanceof JobFailure) return error.code === "ObjectMismatch";
	return connectionFailed(error);
}

/** fetch throws a TypeError whose cause is the socket's error, also for a truncated body ("terminated"). */
function connectionFailed(error: unknown): boolean {
	return (
		error instanceof Error &&
		(error.name === "TimeoutError" ||
			(error instanceof TypeError && error.cause !== undefined))
	);
}

function toFailure(error: unknown, link: PresignedLink): unknown {
	if (error instanceof JobFailure) return error;
	if (noSpace(error))
		return new JobFailure(
			"ScratchFull",
			`The scratch volume has no space for ${link.name}`,
		);
	if (error instanceof LinkError && error.expired)
		return new JobFailure(
			"ManifestExpired",
			`The link to ${link.name} has expired`,
		);
	if (error instanceof LinkError && error.status === 404)
		return new JobFailure(
			"ObjectMissing",
			`The object store has no ${link.name}`,
		);
	if (error instanceof LinkError || connectionFailed(error))
		return new JobFailure(
			link.unavailable,
			`Getting ${link.name} failed: ${reasonAt(link.url, error)}`,
		);
	return error;
}

function noSpace(error: unknown): boolean {
	return ["ENOSPC", "EDQUOT"].includes(
		(error as NodeJS.ErrnoException).code ?? "",
	);
}

/** The same, with the id under which archive's log says where the link leads. */
export function reasonAt(url: string, error: unknown): string {
	return `${reasonOf(error)} (${seeLog(linkErrorId(url), "archive")})`;
}

/**
 * Why a link can't be used, for people of the account: the error's code or name, since messages have the link, the store's name or
 * its address.
 */
export function reasonOf(error: unknown): string {
	if (!(error instanceof Error)) return "unknown reason";
	if (error.name === "TimeoutError") return "no answer in time";
	if (error instanceof LinkError) return error.message;
	const cause = error.cause instanceof Error ? error.cause : error;
	return (cause as NodeJS.ErrnoException).code ?? cause.name;
}
