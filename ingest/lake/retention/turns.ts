import { randomUUID } from "node:crypto";
import type { Store } from "../../../packages/bucket/object-store.ts";

/**
 * Decides which archive does the hour's work on the whole bucket: the first that asks, whatever shards it has. So nothing of the
 * bucket is without an owner, whichever shards were added, drained or given up, and more archives don't do it more often. An
 * archive that ends in the middle leaves the rest to the next hour. A clock that is wrong only moves the hour.
 */
export class Turns {
	readonly #store: Store;
	/** Of this process. */
	readonly #id = randomUUID();

	constructor(store: Store) {
		this.#store = store;
	}

	/** Whether this archive does the work now. Asked again in the same hour, the answer is the same. */
	async take(work: string, nowMs: number): Promise<boolean> {
		const folder = this.#store.keys.turns(work);
		const hour = new Date(nowMs).toISOString().slice(0, "2026-03-01T12".length);
		const key = folder + hour;
		const put = await this.#store.putNew(key, this.#id, "text/plain");
		if (put === "exists") return false;
		const earlier: string[] = [];
		for await (const turn of this.#store.list(folder)) {
			if (turn.key >= key) break;
			earlier.push(turn.key);
		}
		await this.#store.remove(earlier);
		return true;
	}
}
