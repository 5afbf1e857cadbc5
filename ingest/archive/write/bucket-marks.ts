import type { Store } from "../../../packages/bucket/object-store.ts";
import type { BucketMark } from "../decide/bucket-verdict.ts";

/** How often a mark may be replaced by the next one while it is read. */
const tries = 5;

/** The bucket's own mark: an object for each number, of which the newest counts and the others are removed. */
export class BucketMarks {
	readonly #store: Store;

	constructor(store: Store) {
		this.#store = store;
	}

	/** Undefined if the bucket has none. */
	async newest(): Promise<BucketMark | undefined> {
		for (let attempt = 0; attempt < tries; attempt++) {
			const key = (await this.#keys()).at(-1);
			if (key === undefined) return undefined;
			const text = await this.#store.get(key);
			// Another archive has written the next one, and removed this.
			if (text === undefined) continue;
			const { version, id, number } = JSON.parse(text);
			if (version !== 1)
				throw new Error(
					`${key} has version ${version}; this archive knows version 1. Upgrade archive.`,
				);
			return { id, number };
		}
		throw new Error("S3: the bucket has a new number at each try");
	}

	/** Returns false if the number is taken. */
	async write({ id, number }: BucketMark): Promise<boolean> {
		const { keys } = this.#store;
		const key = keys.bucketMark(number);
		const time = new Date().toISOString();
		const text = JSON.stringify({ version: 1, id, number, time });
		const put = await this.#store.putNew(key, text, "application/json");
		if (put === "exists") return false;
		const earlier = (await this.#keys()).filter((each) => each < key);
		if (earlier.length > 0) await this.#store.remove(earlier);
		return true;
	}

	/** The newest last. */
	async #keys(): Promise<string[]> {
		const listed = this.#store.list(this.#store.keys.bucketMarks());
		return Array.fromAsync(listed, ({ key }) => key);
	}
}
