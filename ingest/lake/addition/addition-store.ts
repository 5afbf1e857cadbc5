import type {
	DateFolder,
	SourceName,
} from "../../../packages/bucket/object-keys.ts";
import type {
	ListedObject,
	Store,
} from "../../../packages/bucket/object-store.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { NumberedLog } from "../../archive/write/numbered-log.ts";
import { requireVersion } from "../request/requirements.ts";

/**
 * The decision that an object's rows, which are in quarantine, are rows of their date, too. The records of a source and date
 * are numbered from 1; each is written with `If-None-Match: *` after its object, and none of its rows is in an earlier one.
 * An Operation writes one for each part of a date that had rows to give.
 */
export interface AdditionRecord extends SourceName {
	version: 1;
	date: UtcDate;
	/** Uid of the Operation, which is done with the stream's objects through `last`. */
	operation: string;
	/** The rows come from the objects in quarantine of this stream whose cuts begin at `first` to `last`. */
	stream: string;
	first: number;
	last: number;
	/** Key of the object. */
	key: string;
	rows: number;
	bytes: number;
	/**
	 * The rows come from an Import: `stream` names the Operation, `first` and `last` its part. Nothing of theirs is in quarantine.
	 */
	imported?: true;
}

/** The records of a date, as a listing has them. */
export interface DateAdditions {
	/** In the order of their numbers. */
	records: ListedObject[];
	/** The objects beside them. Those that no record names don't count. */
	bytesOf: Map<string, number>;
}

/** A record, and when the store took it. */
export interface StoredAddition {
	record: AdditionRecord;
	timeMs: number;
}

/** A date may have a thousand. */
export const readsAtOnce = 8;

export class AdditionStore {
	readonly #store: Store;
	/** Says which sources got a record. Who dies before it says so is found once an hour. */
	readonly log: NumberedLog<SourceName>;

	constructor(store: Store) {
		this.#store = store;
		this.log = new NumberedLog(store, store.keys.additions());
	}

	/** Of the dates that have any, ascending: one request for most sources. */
	ofSource(source: SourceName): Promise<Map<UtcDate, DateAdditions>> {
		return this.#list(this.#store.keys.addedOfSource(source));
	}

	/** The sources that have these objects, or any, in the order of their keys. Each comes once. */
	async *sources(
		listed: AsyncIterable<ListedObject> = this.#store.list(
			this.#store.keys.allAdded(),
		),
	): AsyncGenerator<SourceName> {
		let last = "";
		for await (const { key } of listed) {
			const [, account, sourceKey] =
				/\/account=([^/]+)\/source=([^/]+)\//.exec(key) ?? [];
			if (account === undefined || sourceKey === undefined) continue;
			// Keys come in order.
			const name = `${account}/${sourceKey}`;
			if (name !== last) yield { account, sourceKey };
			last = name;
		}
	}

	/** The records of one date, in the order of their numbers, without the first `known` ones. */
	async ofDate(folder: DateFolder, known = 0): Promise<AdditionRecord[]> {
		const records = await this.listed(folder);
		return this.read({ records: records.slice(known) });
	}

	/** The records of one date, as a listing has them. */
	async listed(folder: DateFolder): Promise<ListedObject[]> {
		const found = await this.#list(this.#store.keys.addedOfDate(folder));
		return found.get(folder.date)?.records ?? [];
	}

	/** Throws if one was deleted since it was listed. */
	async read({
		records,
	}: Pick<DateAdditions, "records">): Promise<AdditionRecord[]> {
		return mapConcurrently(records, readsAtOnce, ({ key }) => this.#read(key));
	}

	/** Those of the records that weren't deleted since they were listed. */
	async existing(records: readonly ListedObject[]): Promise<StoredAddition[]> {
		const found = await mapConcurrently(
			records,
			readsAtOnce,
			async ({ key, modifiedMs }) => {
				const record = await this.#find(key);
				return record && { record, timeMs: modifiedMs };
			},
		);
		return found.filter((each) => each !== undefined);
	}

	/** Writes a record unless there is one of the number, and returns the key of the object that the record in the bucket names. */
	async decide(number: number, record: AdditionRecord): Promise<string> {
		const key = this.#store.keys.addedRecord(record, number);
		const text = JSON.stringify(record);
		const written = await this.#store.putNew(key, text, "application/json");
		// It may be this very record, whose first attempt had no answer.
		const named =
			written === "created" ? record.key : (await this.#read(key)).key;
		const { account, sourceKey } = record;
		if (named === record.key) await this.log.append({ account, sourceKey });
		return named;
	}

	async #read(key: string): Promise<AdditionRecord> {
		const record = await this.#find(key);
		if (record) return record;
		throw new Error(
			`The record ${key} was deleted while it was read. Archive tries again.`,
		);
	}

	async #find(key: string): Promise<AdditionRecord | undefined> {
		const text = await this.#store.get(key);
		if (text === undefined) return undefined;
		return requireVersion<AdditionRecord>(
			JSON.parse(text),
			`The record ${key}`,
		);
	}

	async #list(prefix: string): Promise<Map<UtcDate, DateAdditions>> {
		const found = new Map<UtcDate, DateAdditions>();
		for await (const object of this.#store.list(prefix)) {
			const date = /\/date=([\d-]+)\//.exec(object.key)?.[1] ?? "";
			const additions: DateAdditions = found.get(date) ?? {
				records: [],
				bytesOf: new Map(),
			};
			found.set(date, additions);
			if (object.key.endsWith(".json")) additions.records.push(object);
			else additions.bytesOf.set(object.key, object.bytes);
		}
		return found;
	}
}
