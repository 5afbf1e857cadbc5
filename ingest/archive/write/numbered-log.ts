import type {
	ListedObject,
	Store,
} from "../../../packages/bucket/object-store.ts";

/** How long entries stay at least. Retention never removes the newest. */
export const loggedDays = 45;
/** Each number that is taken means that another process has just written an entry. */
const mostTries = 100;
const digits = 20;

export interface LogEntry<Entry> {
	entry: Entry;
	/** When the store took it, by the store's clock, milliseconds since the epoch. */
	modifiedMs: number;
}

/**
 * What has changed in a folder of the bucket that only grows, in order: entries that are numbered from 1, in a folder of their own. A
 * reader lists the first folder once. From then on it reads the log from where it is: one request each time, however much there is.
 */
export class NumberedLog<Entry extends object> {
	readonly #store: Store;
	readonly #folder: string;
	/** This reader knows all through this number. Undefined at the beginning. */
	#through: number | undefined;

	/** @param folder ends in a slash. */
	constructor(store: Store, folder: string) {
		this.#store = store;
		this.#folder = folder;
	}

	/** Tells all readers. The change must be in the bucket. */
	async append(entry: Entry): Promise<void> {
		const text = JSON.stringify(entry);
		let number = this.#through ?? 0;
		for (let tries = 0; tries < mostTries; tries++) {
			for await (const { key } of this.#listAfter(number))
				number = numberOf(key);
			number++;
			const key = this.#keyOf(number);
			const put = await this.#store.putNew(key, text, "application/json");
			if (put === "created") return;
		}
		throw new Error(`S3: ${this.#folder} has a new entry at each try`);
	}

	/**
	 * Learns what was appended since the last call that succeeded. Calls `learnAll` in place of `learn` the first time, and if this
	 * reader was away for so long that entries are gone. What is appended while it learns comes with the next call.
	 */
	async follow({
		learn,
		learnAll,
	}: {
		learn: (entry: Entry) => void;
		learnAll: () => Promise<void>;
	}): Promise<void> {
		if (await this.#learnNew(learn)) return;
		let newest = 0;
		for await (const { key } of this.#listAfter(0)) newest = numberOf(key);
		await learnAll();
		this.#through = newest;
	}

	/** Returns false if entries are gone that this reader doesn't know, or it knows none. */
	async #learnNew(learn: (entry: Entry) => void): Promise<boolean> {
		const known = this.#through;
		if (known === undefined) return false;
		// If the last one that it knows is there, none after it is gone.
		let last = Math.max(0, known - 1);
		for await (const { key } of this.#listAfter(last)) {
			if (numberOf(key) !== last + 1) return false;
			last++;
			if (last <= known) continue;
			const text = await this.#store.get(key);
			if (text === undefined) return false;
			learn(JSON.parse(text));
		}
		if (last < known) return false;
		this.#through = last;
		return true;
	}

	/** All that there are. */
	async *entries(): AsyncGenerator<LogEntry<Entry>> {
		for await (const { key, modifiedMs } of this.#listAfter(0)) {
			const text = await this.#store.get(key);
			if (text !== undefined) yield { entry: JSON.parse(text), modifiedMs };
		}
	}

	#listAfter(number: number): AsyncIterable<ListedObject> {
		return this.#store.list(this.#folder, this.#keyOf(number));
	}

	#keyOf(number: number): string {
		return `${this.#folder}${String(number).padStart(digits, "0")}.json`;
	}
}

function numberOf(key: string): number {
	return Number(/(\d+)\.json$/.exec(key)?.[1]);
}
