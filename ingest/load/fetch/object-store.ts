import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32 } from "node:zlib";
import type { Logger } from "../../../service/log.ts";
import { type JobErrorCode, JobFailure } from "../errors.ts";
import { retry } from "../retry.ts";

/** What is fetched. `name` is for people; `url` is a secret and goes into no error and no log. */
export interface Link {
	name: string;
	url: string;
	/** The code of a failure that is none of the particular ones. */
	unavailable: JobErrorCode;
}

/** Gets presigned links, with a deadline for each attempt and repeats with backoff. Throws {@link JobFailure}. */
export class ObjectStore {
	readonly #log: Logger;
	readonly #signal: AbortSignal;
	readonly #attempts: number;

	constructor(log: Logger, signal: AbortSignal, attempts = 8) {
		this.#log = log;
		this.#signal = signal;
		this.#attempts = attempts;
	}

	async text(link: Link): Promise<string> {
		return this.#get(link, 30_000, (body) => body.text());
	}

	/** Streams an object of `bytes` bytes into a file; another size is an ObjectMismatch. */
	async download(link: Link, file: string, bytes: number): Promise<void> {
		// 256 KiB/s: slower than that, the link's lifetime wouldn't last either.
		const deadlineMs = 30_000 + Math.ceil(bytes / 256);
		await this.#get(link, deadlineMs, async (response) => {
			let received = 0;
			let checksum = 0;
			await pipeline(
				response.body ? Readable.fromWeb(response.body) : Readable.from([]),
				async function* (chunks: AsyncIterable<Uint8Array>) {
					for await (const chunk of chunks) {
						received += chunk.length;
						checksum = crc32(chunk, checksum);
						yield chunk;
					}
				},
				createWriteStream(file),
				{ signal: this.#signal },
			);
			if (received !== bytes)
				throw new JobFailure(
					"ObjectMismatch",
					`${received} bytes came for ${link.name} where the manifest says ${bytes}`,
				);
			const expected = checksumOf(response);
			if (expected !== undefined && checksum !== expected)
				throw new JobFailure(
					"ObjectMismatch",
					`What came for ${link.name} has another checksum than the store says`,
				);
		});
	}

	async #get<T>(
		link: Link,
		deadlineMs: number,
		read: (response: Response) => Promise<T>,
	): Promise<T> {
		try {
			return await retry(
				{
					attempts: this.#attempts,
					signal: this.#signal,
					transient,
					onRetry: (error, attempt) =>
						this.#log.warn(
							{ attempt, reason: reasonOf(error) },
							`getting ${link.name} failed; trying again`,
						),
				},
				async () => {
					const response = await fetch(link.url, {
						redirect: "error",
						signal: AbortSignal.any([
							this.#signal,
							AbortSignal.timeout(deadlineMs),
						]),
					});
					if (!response.ok) throw await StoreRefusal.of(response);
					return await read(response);
				},
			);
		} catch (error) {
			this.#signal.throwIfAborted();
			throw toFailure(error, link);
		}
	}
}

/** CRC32 of the whole object, where the store says it: archive sends it with what it writes, and asks for it in its links. */
function checksumOf({ headers }: Response): number | undefined {
	const base64 = headers.get("x-amz-checksum-crc32");
	// "…-2" is one of two parts' checksums.
	return base64?.length === 8
		? Buffer.from(base64, "base64").readUInt32BE()
		: undefined;
}

/** An answer of the store that is not the object. */
class StoreRefusal extends Error {
	readonly status: number;
	readonly expired: boolean;

	/**
	 * S3 answers an expired link with 403 and these words in the XML, and one whose temporary credentials have expired with
	 * 400; the XML also holds what must not be shown.
	 */
	static async of(response: Response): Promise<StoreRefusal> {
		const xml = (await response.text()).slice(0, 4096);
		const code = /<Code>(\w+)<\/Code>/.exec(xml)?.[1];
		return new StoreRefusal(
			response.status,
			code,
			code === "ExpiredToken" ||
				(response.status === 403 && /expired/i.test(xml)),
		);
	}

	constructor(status: number, code: string | undefined, expired: boolean) {
		super(`HTTP status ${status}${code ? ` (${code})` : ""}`);
		this.status = status;
		this.expired = expired;
	}
}

function transient(error: unknown): boolean {
	if (error instanceof StoreRefusal)
		return error.status >= 500 || [408, 425, 429].includes(error.status);
	// A body cut short looks like this; one that stays so fails in the end.
	if (error instanceof JobFailure) return error.code === "ObjectMismatch";
	return connectionFailed(error);
}

/** fetch throws a TypeError whose cause is the socket's error; a body that breaks off is one too ("terminated"). */
function connectionFailed(error: unknown): boolean {
	return (
		error instanceof Error &&
		(error.name === "TimeoutError" ||
			(error instanceof TypeError && error.cause !== undefined))
	);
}

function toFailure(error: unknown, link: Link): unknown {
	if (error instanceof JobFailure) return error;
	if (noSpace(error))
		return new JobFailure(
			"ScratchFull",
			`There is no space for ${link.name} on the scratch volume`,
		);
	if (error instanceof StoreRefusal && error.expired)
		return new JobFailure(
			"ManifestExpired",
			`The link to ${link.name} has expired`,
		);
	if (error instanceof StoreRefusal && error.status === 404)
		return new JobFailure(
			"ObjectMissing",
			`There is no ${link.name} in the store`,
		);
	if (error instanceof StoreRefusal || connectionFailed(error))
		return new JobFailure(
			link.unavailable,
			`Getting ${link.name} failed: ${reasonOf(error)}`,
		);
	return error;
}

function noSpace(error: unknown): boolean {
	return ["ENOSPC", "EDQUOT"].includes(
		(error as NodeJS.ErrnoException).code ?? "",
	);
}

/** fetch says only "fetch failed"; the cause has the reason. Neither may carry the link, so codes come before words. */
function reasonOf(error: unknown): string {
	if (!(error instanceof Error)) return "unknown reason";
	if (error.name === "TimeoutError") return "no answer in time";
	const cause = error.cause as NodeJS.ErrnoException | undefined;
	return (cause?.code ?? cause?.message ?? error.message).replace(
		/https?:\/\/\S+/g,
		"…",
	);
}
