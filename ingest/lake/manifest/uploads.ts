import type {
	UploadFile,
	UploadRequest,
} from "../../../packages/contracts/transfer.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import type { ObjectKeys } from "../../archive/s3/object-keys.ts";
import type { ObjectStore } from "../../archive/s3/object-store.ts";
import { RequestFailure } from "../request/errors.ts";
import { GivenLinks, withLinks } from "../uploads/given-links.ts";

/** An upload that began just before its link expired may take as long again. */
const countedFor = 2;

/** The files that people have uploaded. Archive reads none of them. */
export class Uploads {
	readonly #store: ObjectStore;
	readonly #keys: ObjectKeys;

	constructor(store: ObjectStore, keys: ObjectKeys) {
		this.#store = store;
		this.#keys = keys;
	}

	/** Links for those that aren't there. Throws {@link RequestFailure} UploadsTooLarge. */
	async links(
		{ account, files }: UploadRequest,
		seconds: number,
	): Promise<UploadFile[]> {
		let there = new Map<string, number>();
		const links = new GivenLinks(this.#store, this.#keys);
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
			const key = this.#keys.upload(account, sha256);
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
		const prefix = this.#keys.uploadsOf(account);
		for await (const { key, bytes } of this.#store.list(prefix))
			found.set(key.slice(prefix.length), bytes);
		return found;
	}
}
