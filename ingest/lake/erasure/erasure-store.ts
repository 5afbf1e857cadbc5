import type { SourceName } from "../../../packages/bucket/object-keys.ts";
import type {
	ListedObject,
	Store,
} from "../../../packages/bucket/object-store.ts";
import type {
	Erasure,
	ErasureAnswer,
} from "../../../packages/contracts/archive.ts";
import type {
	Manifest,
	ManifestDate,
} from "../../../packages/contracts/manifest.ts";
import {
	earlierMs,
	type UtcDate,
} from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { isOutput, nameIn } from "../../wire/object-name.ts";
import type { Replacements } from "../objects/replacements.ts";
import { RequestFailure } from "../request/errors.ts";
import { requireVersion } from "../request/requirements.ts";

/** An Operation that erases events of a source. It is in the bucket before anything is erased. */
export interface ErasureRecord extends SourceName {
	version: 1;
	operation: string;
	/** Absent once all tables are done. */
	erasure?: Erasure;
	/** The date on which it was asked for. */
	date: UtcDate;
}

/** What it has erased, in which place. It is in the bucket once nothing is left. */
export type ErasureDone = Omit<Extract<ErasureAnswer, { ok: true }>, "ok">;

/** Of a date, by the names of its objects: how many rows in them are erased, by whomever. Written after the objects. */
interface ErasedDate {
	objects: Record<string, number>;
}

const readsAtOnce = 8;
const type = "application/json";

/** What was erased of a source, or will be; undefined if nothing, which is one request to the store. */
export interface SourceErasures {
	asked: ListedObject[];
	isDone: boolean;
	dates: Map<UtcDate, ListedObject[]>;
}

/** The records of erasures: `asked/<operation>.json`, `dates/date=<date>/<operation>.json` and `done/<operation>.json`. */
export class ErasureStore {
	readonly #store: Store;

	constructor(store: Store) {
		this.#store = store;
	}

	async ofSource(source: SourceName): Promise<SourceErasures | undefined> {
		const asked: ListedObject[] = [];
		const dates: SourceErasures["dates"] = new Map();
		let done = 0;
		const folder = this.#store.keys.erasuresOfSource(source);
		for await (const object of this.#store.list(folder)) {
			const name = object.key.slice(folder.length);
			const date = /^dates\/date=([\d-]+)\//.exec(name)?.[1];
			if (date !== undefined)
				dates.set(date, [...(dates.get(date) ?? []), object]);
			else if (name.startsWith("asked/")) asked.push(object);
			else done++;
		}
		return asked.length === 0
			? undefined
			: { asked, dates, isDone: done === asked.length };
	}

	/** Says that the events are to be erased, once. Returns the record that is in the bucket. */
	async ask(record: ErasureRecord): Promise<ErasureRecord> {
		const key = this.#key(record, "asked");
		await this.#store.putNew(key, JSON.stringify(record), type);
		return this.#read(key);
	}

	/** Keeps that there was an erasure, and not of which events: a value of theirs may be among what was asked. */
	async forget(store: Store, named: NamedErasure): Promise<void> {
		const key = this.#key(named, "asked");
		const { erasure: _, ...record } = await this.#read(key);
		await store.put(key, JSON.stringify(record), type);
	}

	async done(record: NamedErasure): Promise<ErasureDone | undefined> {
		const text = await this.#store.get(this.#key(record, "done"));
		return text === undefined ? undefined : JSON.parse(text);
	}

	async setDone(record: NamedErasure, done: ErasureDone): Promise<void> {
		const text = JSON.stringify(done);
		await this.#store.putNew(this.#key(record, "done"), text, type);
	}

	/** @param store as the one of this; an earlier attempt may have written another count. */
	async setDate(
		store: Store,
		record: NamedErasure,
		date: UtcDate,
		objects: ErasedDate["objects"],
	): Promise<void> {
		const erased: ErasedDate = { objects };
		const key = this.#key(record, `dates/date=${date}`);
		await store.put(key, JSON.stringify(erased), type);
	}

	/** What a manifest says of them, beside its dates. @param since what the table holds already. */
	async inManifest(
		erasures: SourceErasures,
		since: string | undefined,
	): Promise<NonNullable<Manifest["erasures"]>> {
		const after = since === undefined ? -Infinity : earlierMs(since);
		const younger = erasures.asked.filter(
			({ modifiedMs }) => modifiedMs > after,
		);
		const records = await mapConcurrently(younger, readsAtOnce, ({ key }) =>
			this.#read(key),
		);
		return {
			asked: erasures.asked.length,
			...(!erasures.isDone && { isUnderWay: true }),
			others: records.flatMap(({ erasure, date: before }) =>
				erasure ? [{ ...erasure, before }] : [],
			),
		};
	}

	/** A source's day, with what of its objects counts no more. */
	async withErased(
		source: SourceName,
		day: ManifestDate,
		erasures: SourceErasures | undefined,
		replaced: Pick<Replacements, "of">,
	): Promise<ManifestDate> {
		const listed = erasures?.dates.get(day.date);
		if (!listed) return day;
		const found = await mapConcurrently(
			listed,
			readsAtOnce,
			async ({ key }): Promise<ErasedDate> =>
				JSON.parse((await this.#store.get(key)) ?? '{"objects":{}}'),
		);
		const names = day.objects.map(({ key }) => nameIn(key));
		const { date } = day;
		const record = names.some(isOutput)
			? await replaced.of({ ...source, date })
			: undefined;
		const inputsOf = new Map(
			record?.outputs.map(({ name, inputs }) => [name, inputs]),
		);
		// Rows that are erased stay so in what replaces their objects.
		const rowsIn = (name: string): number =>
			Math.max(
				sumOf((inputsOf.get(name) ?? []).map(rowsIn)),
				...found.map(({ objects }) => objects[name] ?? 0),
			);
		const rows = sumOf(names.map(rowsIn));
		const by = listed.map(({ key }) => /([^/]+)\.json$/.exec(key)![1]!);
		return { ...day, erased: { by, rows } };
	}

	/** Throws {@link RequestFailure} ManifestOutdated if events were erased since a manifest was made, or may be. */
	async requireNoneSince({
		account,
		sourceKey,
		snapshotTime,
		erasures,
	}: Pick<
		Manifest,
		"account" | "sourceKey" | "snapshotTime" | "erasures"
	>): Promise<void> {
		const source = { account, sourceKey };
		const what = `the manifest of ${snapshotTime} was made`;
		await this.requireCount(source, erasures?.asked ?? 0, what);
	}

	/** How often events of the source were to be erased. */
	async count(source: SourceName): Promise<number> {
		return (await this.ofSource(source))?.asked.length ?? 0;
	}

	/**
	 * Throws {@link RequestFailure} ManifestOutdated unless it is still the same: what was read before would bring back what is
	 * erased by now. @param since words that follow "since".
	 */
	async requireCount(
		source: SourceName,
		count: number,
		since: string,
	): Promise<void> {
		if ((await this.count(source)) === count) return;
		throw new RequestFailure(
			"ManifestOutdated",
			`Events of the Source were erased since ${since}`,
		);
	}

	async #read(key: string): Promise<ErasureRecord> {
		const text = await this.#store.get(key);
		return requireVersion(JSON.parse(text ?? "{}"), `The record ${key}`);
	}

	#key(record: NamedErasure, folder: string): string {
		return `${this.#store.keys.erasuresOfSource(record)}${folder}/${record.operation}.json`;
	}
}

function sumOf(numbers: readonly number[]): number {
	return numbers.reduce((sum, each) => sum + each, 0);
}

type NamedErasure = Pick<ErasureRecord, "account" | "sourceKey" | "operation">;
