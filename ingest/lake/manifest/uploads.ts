import type { Store } from "../../../packages/bucket/object-store.ts";
import {
	maxGivenLinks,
	maxUploadedBytes,
	maxUploadedFiles,
	type UploadFile,
	type UploadRequest,
} from "../../../packages/contracts/transfer.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import type { LakeContext } from "../request/context.ts";
import { RequestFailure } from "../request/errors.ts";
import type { Answers } from "../request/responder.ts";
import { NumberedRecords } from "../retention/numbered-records.ts";

/** For the largest file, at 300 KiB/s. */
const linkSeconds = 3_600;

/** Answers the API's requests for links to upload files for Imports (packages/contracts/transfer.ts), whatever the shard. */
export function answerUploads({ store }: LakeContext): Answers["upload"] {
	const uploads = new Uploads(store);
	return async (request) => {
		const seconds = await store.linkSeconds(linkSeconds);
		const expiresAt = new Date(Date.now() + seconds * 1000).toISOString();
		const files = await uploads.links(request, seconds);
		return { ok: true, files, expiresAt };
	};
}

/** An upload that began just before its link expired may take as long again. */
const countedFor = 2;

/** The files that people have uploaded. Archive reads none of them. */
export class Uploads {
	readonly #store: Store;

	constructor(store: Store) {
		this.#store = store;
	}

	/** Links for those that aren't there. Throws {@link RequestFailure} UploadsTooLarge. */
	async links(
		{ account, files }: UploadRequest,
		seconds: number,
	): Promise<UploadFile[]> {
		let there = new Map<string, number>();
		const links = new GivenLinks(this.#store);
		await links.change(account, async (given) => {
			there = await this.#of(account);
			const missing = files.filter(({ sha256 }) => !there.has(sha256));
			if (missing.length === 0) return undefined;
			const nowMs = Date.now();
			const untilMs = nowMs + countedFor * seconds * 1000;
			return withLinks(account, given, there, missing, nowMs, untilMs);
		});
		return mapConcurrently(files, 8, async ({ sha256, bytes }) => {
			if (there.has(sha256)) return { sha256 };
			const key = this.#store.keys.upload(account, sha256);
			const link = await this.#store.presignPut(key, bytes, seconds, sha256);
			return { sha256, link };
		});
	}

	/** The files of an Import. Throws {@link RequestFailure} UploadMissing. */
	async require(account: string, digests: readonly string[]) {
		const there = await this.#of(account);
		return {
			files: digests.map((sha256) => {
				const bytes = there.get(sha256);
				if (bytes === undefined)
					throw new RequestFailure(
						"UploadMissing",
						`The file with the SHA-256 ${sha256} is not among the uploaded files of ${account}`,
					);
				return { sha256, bytes };
			}),
		};
	}

	/** Bytes of each file by its digest. */
	async #of(account: string): Promise<Map<string, number>> {
		const found = new Map<string, number>();
		const prefix = this.#store.keys.uploadsOf(account);
		for await (const { key, bytes } of this.#store.list(prefix))
			found.set(key.slice(prefix.length), bytes);
		return found;
	}
}

/** Each time, another request of the account was first. */
const maxTries = 20;
const digits = 20;

/** A link that may still be used. */
interface GivenLink {
	bytes: number;
	untilMs: number;
}
/** By the digests of their files. */
type Given = Readonly<Record<string, GivenLink>>;

/**
 * The links of each account by which files may yet come. Its newest record has all of them. They are in the bucket, so that
 * every archive counts those of the others.
 */
export class GivenLinks {
	readonly #store: Store;

	constructor(store: Store) {
		this.#store = store;
	}

	/**
	 * Counts the links of one request, before it has them.
	 * @param decide makes the next record of the newest one, or returns undefined to write none. It is called again if another
	 * request was first.
	 */
	async change(
		account: string,
		decide: (given: Given) => Promise<Given | undefined>,
	): Promise<void> {
		const folder = this.#store.keys.uploadLinksOf(account);
		const records = new NumberedRecords(this.#store, folder, digits);
		for (let tries = 0; tries < maxTries; tries++) {
			const newest = await records.newest();
			const next = await decide(JSON.parse(newest?.text ?? "{}"));
			if (!next) return;
			if (await records.write((newest?.number ?? 0) + 1, next)) return;
		}
		throw new Error(`too many requests of ${account} for links at once`);
	}
}

/**
 * The links that count with those of one more request. One that would count for longer than a link can was given by a clock
 * that was ahead, and counts no more.
 * @param there bytes of the files in the bucket, listed after `given` was read: a file leaves `given` only once it is there.
 * @param untilMs when the new ones count no more.
 * Throws {@link RequestFailure} UploadsTooLarge.
 */
export function withLinks(
	account: string,
	given: Given,
	there: ReadonlyMap<string, number>,
	missing: UploadRequest["files"],
	nowMs: number,
	untilMs: number,
): Given {
	const next = new Map(
		Object.entries(given).filter(
			([sha256, link]) =>
				link.untilMs > nowMs &&
				link.untilMs <= nowMs + countedFor * linkSeconds * 1000 &&
				!((there.get(sha256) ?? -1) >= link.bytes),
		),
	);
	for (const { sha256, bytes } of missing) {
		const earlier = next.get(sha256)?.bytes ?? 0;
		next.set(sha256, { bytes: Math.max(earlier, bytes), untilMs });
	}
	// A link for another length may replace a file that is there.
	const bytes = new Map(there);
	for (const [sha256, link] of next)
		bytes.set(sha256, Math.max(bytes.get(sha256) ?? 0, link.bytes));
	const sum = [...bytes.values()].reduce((total, each) => total + each, 0);
	if (sum > maxUploadedBytes)
		throw new RequestFailure(
			"UploadsTooLarge",
			`${account} would have ${sum} bytes of uploaded files and of files with links, and ${maxUploadedBytes} are allowed`,
		);
	if (bytes.size > maxUploadedFiles)
		throw new RequestFailure(
			"UploadsTooLarge",
			`${account} would have ${bytes.size} uploaded files and files with links, and ${maxUploadedFiles} are allowed`,
		);
	if (next.size > maxGivenLinks)
		throw new RequestFailure(
			"UploadsTooLarge",
			`${account} would have ${next.size} links that nobody has used, and ${maxGivenLinks} are allowed`,
		);
	return Object.fromEntries(next);
}
