import { randomBytes } from "node:crypto";
import type { DateFolder } from "../../../packages/bucket/object-keys.ts";
import type { Store } from "../../../packages/bucket/object-store.ts";
import { RequestFailure } from "../request/errors.ts";
import { type AdditionRecord, AdditionStore } from "./addition-store.ts";

/** Each manifest reads the records of its dates. */
const maxRecordsOfDate = 1_000;

export const parquetType = "application/vnd.apache.parquet";

export interface AdditionWriterOptions {
	store: Store;
	/** Settles before anything is written. Throws if the source is deleted. */
	idle(): Promise<void>;
}

/** Which events an object has; see {@link AdditionRecord}. */
export type AddedEventsOf = Pick<
	AdditionRecord,
	"operation" | "stream" | "first" | "last" | "imported"
>;

/** An object that may be added. */
export interface NewAddition {
	rows: number;
	bytes: number;
	put(key: string): Promise<unknown>;
}

/**
 * Adds objects with given event IDs to one date. A number has one record, and whoever comes second to it looks again before the
 * next attempt, so each event becomes a row once, whatever crashes.
 */
export class AdditionWriter {
	/** All records that were read or written, by number. */
	readonly records: AdditionRecord[] = [];
	readonly #options: AdditionWriterOptions;
	readonly #folder: DateFolder;
	readonly #additions: AdditionStore;

	constructor(
		options: AdditionWriterOptions,
		{ account, sourceKey, date }: DateFolder,
	) {
		this.#options = options;
		this.#folder = { account, sourceKey, date };
		this.#additions = new AdditionStore(options.store);
	}

	/** How many events an Operation has added, now or before, by what was read. */
	eventsOf(operation: string): number {
		return this.records
			.filter((record) => record.operation === operation)
			.reduce((sum, { rows }) => sum + rows, 0);
	}

	/** Reads the records since the last look. */
	async look(): Promise<void> {
		const known = this.records.length;
		this.records.push(...(await this.#additions.ofDate(this.#folder, known)));
	}

	/**
	 * Adds one object. Throws {@link RequestFailure} AdditionsTooMany, whose code is `ReleasesTooMany`.
	 * @param make makes it by the records there are, and again if another Operation was first. Undefined if there is nothing to add.
	 */
	async add(
		what: AddedEventsOf,
		make: () => Promise<NewAddition | undefined>,
	): Promise<void> {
		const { store, idle } = this.#options;
		for (;;) {
			await this.look();
			const made = await make();
			if (!made) return;
			const number = this.records.length + 1;
			if (number > maxRecordsOfDate)
				throw new RequestFailure(
					"ReleasesTooMany",
					`Events were added to ${this.#folder.date} in ${this.records.length} parts`,
				);
			const attempt = randomBytes(8).toString("hex");
			const key = store.keys.addedObject(this.#folder, number, attempt);
			await idle();
			await made.put(key);
			const { rows, bytes } = made;
			const size = { key, rows, bytes };
			const record = { version: 1, ...this.#folder, ...what, ...size } as const;
			if ((await this.#additions.decide(number, record)) === key) {
				this.records.push(record);
				return;
			}
			// Nobody names it. If this fails, it goes with its date.
			await store.remove([key]);
		}
	}
}
