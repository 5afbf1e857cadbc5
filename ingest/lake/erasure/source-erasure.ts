import type { SourcePlace } from "../../../packages/bucket/object-keys.ts";
import type { Store } from "../../../packages/bucket/object-store.ts";
import {
	type Erasure,
	type ErasurePlace,
	erasurePlaces,
} from "../../../packages/contracts/archive.ts";
import { erasedKind } from "../../../packages/contracts/manifest.ts";
import {
	addDays,
	type UtcDate,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import { parquetRows, quoteText } from "../../../packages/duckdb/quoting.ts";
import { meantSql } from "../../../packages/warehouses/load/body-values.ts";
import { timeOfEventID } from "../../wire/frame-event.ts";
import {
	type CompactionRecord,
	CompactionStore,
} from "../compaction/record.ts";
import { ParquetRewriter } from "../objects/parquet-rewriter.ts";
import { rowGroupSize } from "../objects/parquet-size.ts";
import { type ErasureRecord, ErasureStore } from "./erasure-store.ts";

export interface SourceErasureOptions {
	store: Store;
	scratch: string;
	signal: AbortSignal;
	/** Works on one object at a time, in the account's turn. */
	inTurn<T>(work: () => Promise<T>): Promise<T>;
	/** The date of now, by NATS's clock and archive's. Throws if they differ. */
	today(): Promise<UtcDate>;
	/** Whether the rows are counted and nothing is written. */
	isDryRun?: boolean | undefined;
}

type AskedErasure = ErasureRecord & { erasure: Erasure };

/** Of one object: rows that this Operation has erased, now or before, and rows that anybody has. */
interface ObjectErasure {
	own: number;
	erased: number;
}

/**
 * Erases events in the objects of a source, each in its place: what is left of a row keeps its id, its time and its date, so the numbers of
 * rows that the records of cuts, compactions and releases say stay right, and an import finds the id and adds nothing. Each object is
 * replaced as a whole, and says itself which Operation has erased what, so an attempt that died can be repeated.
 */
export class SourceErasure {
	readonly #options: SourceErasureOptions;
	readonly #record: AskedErasure;
	readonly #rewriter: ParquetRewriter;
	readonly #counts = Object.fromEntries(
		erasurePlaces.map((place) => [place, 0]),
	) as Record<ErasurePlace, number>;
	/** By date: erased rows by the name of their object. */
	readonly #dates = new Map<UtcDate, Record<string, number>>();

	private constructor(
		options: SourceErasureOptions,
		record: AskedErasure,
		rewriter: ParquetRewriter,
	) {
		this.#options = options;
		this.#record = record;
		this.#rewriter = rewriter;
	}

	/** Returns how many rows are erased in which place. */
	static async run(
		options: SourceErasureOptions,
		record: AskedErasure,
	): Promise<Record<ErasurePlace, number>> {
		const { scratch, signal } = options;
		const rewriter = await ParquetRewriter.open(scratch, signal);
		try {
			const erasure = new SourceErasure(options, record, rewriter);
			await erasure.#run();
			return erasure.#counts;
		} finally {
			await rewriter.close();
		}
	}

	async #run(): Promise<void> {
		const { store } = this.#options;
		const { keys } = store;
		const source = this.#record;
		for (const place of keys.placesOfSource(source)) await this.#place(place);
		if (this.#options.isDryRun) return;
		const records = new ErasureStore(store);
		for (const [date, objects] of this.#dates)
			await records.setDate(store, source, date, objects);
	}

	async #place(place: SourcePlace): Promise<void> {
		for (const date of await this.#datesIn(place.folder)) {
			const folder = `${place.folder}date=${date}/`;
			const found = await this.#date(folder, new Map());
			// Compaction reads a date only once it is closed, so it finds all of these erased.
			const mayBeCompacted =
				place.compacted &&
				hasOwn(found) &&
				date < (await this.#options.today());
			if (mayBeCompacted)
				await this.#afterCompaction(place, date, folder, found);
			else this.#count(place.name, found.values());
			if (!hasOwn(found)) continue;
			const objects = this.#dates.get(date) ?? {};
			this.#dates.set(date, objects);
			// A table of its own has the date anew, too.
			if (place.isApart) continue;
			for (const [name, { erased }] of found)
				if (erased > 0) objects[name] = erased;
		}
	}

	/**
	 * A compaction that read the objects before may yet decide that what it made of them counts. So the date gets a record that
	 * replaces nothing, unless it has one by now, whose outputs are erased as well.
	 */
	async #afterCompaction(
		{ name: place, compacted }: SourcePlace,
		date: UtcDate,
		folder: string,
		found: Map<string, ObjectErasure>,
	): Promise<void> {
		const { account, sourceKey } = this.#record;
		const { store, isDryRun } = this.#options;
		const records = new CompactionStore(store);
		const none: CompactionRecord = {
			version: 1,
			account,
			sourceKey,
			date,
			...compacted,
			outputs: [],
		};
		const { outputs } = isDryRun
			? ((await records.of(none)) ?? none)
			: await records.decide(none);
		await this.#date(folder, found);
		const inputs = new Set(outputs.flatMap((output) => output.inputs));
		const replaced = [...found].filter(([name]) => inputs.has(name));
		const counted = [...found].filter(([name]) => !inputs.has(name));
		this.#count(
			"CompactedInputs",
			replaced.map(([, each]) => each),
		);
		this.#count(
			place,
			counted.map(([, each]) => each),
		);
	}

	/** Adds what it finds in objects that aren't in `found`. */
	async #date(
		folder: string,
		found: Map<string, ObjectErasure>,
	): Promise<Map<string, ObjectErasure>> {
		const { store, inTurn } = this.#options;
		for await (const { key } of store.list(folder)) {
			const name = key.slice(folder.length);
			if (!name.endsWith(".parquet") || found.has(name)) continue;
			found.set(name, await inTurn(() => this.#object(key)));
		}
		return found;
	}

	#count(place: ErasurePlace, found: Iterable<ObjectErasure>): void {
		for (const { own } of found) this.#counts[place] += own;
	}

	/** The dates of a folder that may have such events. */
	async #datesIn(prefix: string): Promise<UtcDate[]> {
		const { eventIDs } = this.#record.erasure;
		const dates = new Set<UtcDate>();
		for (let after: string | undefined; ; ) {
			let date: UtcDate | undefined;
			for await (const { key } of this.#options.store.list(prefix, after)) {
				date = /^date=([\d-]+)\//.exec(key.slice(prefix.length))?.[1];
				break;
			}
			if (date === undefined) break;
			dates.add(date);
			// Behind all keys of the date.
			after = `${prefix}date=${date}/\u{10ffff}`;
		}
		const possible = eventIDs && datesOfIDs(eventIDs);
		return [...dates].filter((date) => !possible || possible.has(date));
	}

	async #object(key: string): Promise<ObjectErasure> {
		this.#options.signal.throwIfAborted();
		const { store } = this.#options;
		const { operation, erasure } = this.#record;
		const file = this.#rewriter.newFile();
		let made: string | undefined;
		try {
			if ((await store.getFile(key, file)) === undefined)
				return { own: 0, erased: 0 };
			const rows = parquetRows([file]);
			const isErased = `coalesce(kind = ${quoteText(erasedKind)}, false)`;
			const isOwn = `coalesce(headers = ${quoteText(markOf(operation))}, false)`;
			const isWanted = `NOT ${isErased} AND NOT ${isOwn} AND coalesce(${conditionOf(erasure)}, false)`;
			const [found] = await this.#rewriter.rows<
				Record<"wanted" | "own" | "erased" | "rows" | "bytes", bigint>
			>(
				`SELECT count(*) FILTER (${isWanted}) AS wanted, count(*) FILTER (${isOwn}) AS own, count(*) FILTER (${isErased}) AS erased,` +
					` count(*) AS rows, coalesce(sum(strlen(body)), 0)::BIGINT AS bytes FROM ${rows}`,
			);
			const [wanted = 0, own = 0, erased = 0] = [
				found!.wanted,
				found!.own,
				found!.erased,
			].map(Number);
			if (wanted > 0 && !this.#options.isDryRun) {
				const kind =
					erasure.mode === "RemoveRow" ? quoteText(erasedKind) : "kind";
				const blank = [
					["body", "'null'"],
					["kind", kind],
					["headers", quoteText(markOf(operation))],
					["violations", "NULL"],
				].map(
					([name, value]) =>
						`CASE WHEN ${isWanted} THEN ${value} ELSE ${name} END AS ${name}`,
				);
				const { file: erased } = await this.#rewriter.write(
					`SELECT * REPLACE (${blank.join(", ")}) FROM ${rows}`,
					rowGroupSize({
						objects: 1,
						rows: Number(found!.rows),
						bytes: Number(found!.bytes),
					}),
				);
				made = erased;
				await store.putFile(key, made, "application/vnd.apache.parquet");
			}
			const more = erasure.mode === "RemoveRow" ? wanted : 0;
			return { own: own + wanted, erased: erased + more };
		} finally {
			await this.#rewriter.remove(made === undefined ? [file] : [file, made]);
		}
	}
}

function hasOwn(found: ReadonlyMap<string, ObjectErasure>): boolean {
	return [...found.values()].some(({ own }) => own > 0);
}

/** The captured headers of what is left of an event. No sender's header has this name: receive captures none of it. */
export function markOf(operation: string): string {
	return JSON.stringify({ "tidemill-erased": operation });
}

/** The condition on a row of an object. */
function conditionOf({ eventIDs, match }: Erasure): string {
	if (eventIDs) return `event_id IN (${eventIDs.map(quoteText).join(", ")})`;
	return meantSql("body", match!);
}

/** The longest window of a sender's key: an event has the id of its key's first request. */
const laterDays = 8;

function datesOfIDs(eventIDs: readonly string[]): Set<UtcDate> | undefined {
	const dates = new Set<UtcDate>();
	for (const id of eventIDs) {
		const timeMs = timeOfEventID(id);
		// An id that isn't Tidemill's has no time.
		if (timeMs === undefined) return undefined;
		for (let day = 0; day <= laterDays; day++)
			dates.add(addDays(utcDate(timeMs), day));
	}
	return dates;
}
