import {
	maxGivenLinks,
	maxUploadedBytes,
	type UploadRequest,
} from "../../../packages/contracts/transfer.ts";
import type { ObjectKeys } from "../../archive/s3/object-keys.ts";
import type { ObjectStore } from "../../archive/s3/object-store.ts";
import { RequestFailure } from "../request/errors.ts";
import { NumberedRecords } from "../retention/numbered-records.ts";

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
	readonly #store: ObjectStore;
	readonly #keys: ObjectKeys;

	constructor(store: ObjectStore, keys: ObjectKeys) {
		this.#store = store;
		this.#keys = keys;
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
		const folder = this.#keys.uploadLinksOf(account);
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
 * The links that count with those of one more request.
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
				link.untilMs > nowMs && !((there.get(sha256) ?? -1) >= link.bytes),
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
	if (next.size > maxGivenLinks)
		throw new RequestFailure(
			"UploadsTooLarge",
			`${account} would have ${next.size} links that nobody has used, and ${maxGivenLinks} are allowed`,
		);
	return Object.fromEntries(next);
}
