import type {
	ListedObject,
	Store,
} from "../../../packages/bucket/object-store.ts";

/** Each list that misses the newest record means that another process has just written one. */
const mostLists = 20;

export interface NumberedRecord {
	number: number;
	text: string;
	/** When the store took it, by its clock. */
	modifiedMs: number;
}

/**
 * The records of one folder. They are numbered, and the newest holds. Earlier ones go, so that somebody who changes it all the
 * time costs no other one anything.
 */
export class NumberedRecords {
	readonly #store: Store;
	readonly #folder: string;
	readonly #digits: number;

	/**
	 * @param folder ends in a slash.
	 * @param digits of each number in its key. They never change: archives of two versions find the newest by its key.
	 */
	constructor(store: Store, folder: string, digits: number) {
		this.#store = store;
		this.#folder = folder;
		this.#digits = digits;
	}

	/**
	 * The newest record; undefined if there is none.
	 * @param listed what a list has just shown as the newest.
	 */
	async newest(listed?: ListedObject): Promise<NumberedRecord | undefined> {
		for (let list = 1; list <= mostLists; list++) {
			const found = (list === 1 && listed) || (await this.#list()).at(-1);
			if (!found) return undefined;
			const { key, modifiedMs } = found;
			const text = await this.#store.get(key);
			// A record that is gone was replaced by a newer one, unless the whole folder goes.
			if (text === undefined) continue;
			return {
				number: Number(/(\d+)\.json$/.exec(key)?.[1]),
				text,
				modifiedMs,
			};
		}
		throw new Error(`The records in ${this.#folder} keep changing`);
	}

	/** Writes the record of this number. Returns false if another one came first, and then that one counts. */
	async write(number: number, record: object): Promise<boolean> {
		const name = String(number).padStart(this.#digits, "0");
		const key = `${this.#folder}${name}.json`;
		const text = JSON.stringify(record);
		const put = await this.#store.putNew(key, text, "application/json");
		if (put === "exists") return false;
		const keys = (await this.#list()).map((record) => record.key);
		await this.#store.remove(keys.filter((each) => each < key));
		// A later one says that this number was taken, and removed again, before.
		return keys.at(-1) === key;
	}

	async #list(): Promise<ListedObject[]> {
		const found: ListedObject[] = [];
		for await (const object of this.#store.list(this.#folder))
			found.push(object);
		return found;
	}
}
