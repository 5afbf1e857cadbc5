import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import type { DateFolder, SourceName } from "../../archive/s3/object-keys.ts";
import type {
	ListedObject,
	ObjectStore,
} from "../../archive/s3/object-store.ts";
import { NumberedLog } from "../../archive/write/numbered-log.ts";

/**
 * The decision that an object's rows, which are in quarantine, are rows of their date, too. The records of a source and date
 * are numbered from 1; each is written with `If-None-Match: *` after its object, and none of its rows is in an earlier one.
 * An Operation writes one for each part of a date that had rows to give.
 */
export interface ReleaseRecord extends SourceName {
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
export interface DateReleases {
	/** In the order of their numbers. */
	records: ListedObject[];
	/** The objects beside them. Those that no record names don't count. */
	bytesOf: Map<string, number>;
}

/** A record, and when the store took it. */
export interface StoredRelease {
	record: ReleaseRecord;
	timeMs: number;
}

/** A date may have a thousand. */
export const readsAtOnce = 8;

export class ReleaseStore {
	readonly #store: ObjectStore;
	/** Says which sources got a record. Who dies before it says so is found once an hour. */
	readonly log: NumberedLog<SourceName>;

	constructor(store: ObjectStore) {
		this.#store = store;
		this.log = new NumberedLog(store, store.keys.additions());
	}

	/** Of the dates that have any, ascending: one request for most sources. */
	ofSource(source: SourceName): Promise<Map<UtcDate, DateReleases>> {
		return this.#list(this.#store.keys.releasesOfSource(source));
	}

	/** The sources that have these objects, or any, in the order of their keys. Each comes once. */
	async *sources(
		listed: AsyncIterable<ListedObject> = this.#store.list(
			this.#store.keys.allReleases(),
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
	async ofDate(folder: DateFolder, known = 0): Promise<ReleaseRecord[]> {
		const records = await this.listed(folder);
		return this.read({ records: records.slice(known) });
	}

	/** The records of one date, as a listing has them. */
	async listed(folder: DateFolder): Promise<ListedObject[]> {
		const found = await this.#list(this.#store.keys.releasesOfDate(folder));
		return found.get(folder.date)?.records ?? [];
	}

	/** Throws if one was deleted since it was listed. */
	async read({
		records,
	}: Pick<DateReleases, "records">): Promise<ReleaseRecord[]> {
		return mapConcurrently(records, readsAtOnce, ({ key }) => this.#read(key));
	}

	/** Those of the records that weren't deleted since they were listed. */
	async existing(records: readonly ListedObject[]): Promise<StoredRelease[]> {
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
	async decide(number: number, record: ReleaseRecord): Promise<string> {
		const key = this.#store.keys.release(record, number);
		const text = JSON.stringify(record);
		const written = await this.#store.putNew(key, text, "application/json");
		// It may be this very record, whose first attempt had no answer.
		const named =
			written === "created" ? record.key : (await this.#read(key)).key;
		const { account, sourceKey } = record;
		if (named === record.key) await this.log.append({ account, sourceKey });
		return named;
	}

	async #read(key: string): Promise<ReleaseRecord> {
		const record = await this.#find(key);
		if (record) return record;
		throw new Error(
			`The release record ${key} was deleted while it was read. Archive tries again.`,
		);
	}

	async #find(key: string): Promise<ReleaseRecord | undefined> {
		const text = await this.#store.get(key);
		if (text === undefined) return undefined;
		const record = JSON.parse(text);
		if (record?.version !== 1)
			throw new Error(
				`The release record ${key} has version ${record?.version}; this archive knows version 1. Upgrade archive.`,
			);
		return record as ReleaseRecord;
	}

	async #list(prefix: string): Promise<Map<UtcDate, DateReleases>> {
		const found = new Map<UtcDate, DateReleases>();
		for await (const object of this.#store.list(prefix)) {
			const date = /\/date=([\d-]+)\//.exec(object.key)?.[1] ?? "";
			const releases: DateReleases = found.get(date) ?? {
				records: [],
				bytesOf: new Map(),
			};
			found.set(date, releases);
			if (object.key.endsWith(".json")) releases.records.push(object);
			else releases.bytesOf.set(object.key, object.bytes);
		}
		return found;
	}
}
