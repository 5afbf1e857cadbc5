import type { Store } from "../../../packages/bucket/object-store.ts";
import {
	addDays,
	closedThrough,
	type UtcDate,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import type { LedgerIndex } from "../../archive/ledger/ledger-index.ts";
import { objectKinds, ofKind } from "../../wire/object-kinds.ts";
import { folderOf } from "../retention/listing.ts";
import { NumberedRecords } from "../retention/numbered-records.ts";
import { compactedDays } from "./due-dates.ts";
import { hasOutlivedReaders } from "./record.ts";

const sourcesAtOnce = 8;
const digits = 20;
/** A compaction may take hours, and clocks differ. */
const marginDays = 2;

/** What the bucket remembers of a shard's records that were checked: nothing is left of what they replaced. */
interface CheckedRecords {
	version: 1;
	/** All records of dates through this one. */
	through?: UtcDate;
	/** Dates after it, by the folder of their records. */
	after: Record<string, UtcDate[]>;
}

export interface ShardRecordsOptions {
	store: Store;
	shard: { readonly number: number; readonly index: LedgerIndex };
	/** Removes what a record replaced, and throws or returns false if something may be left. */
	check: (key: string) => Promise<boolean>;
}

/**
 * Which dates of one shard have a compaction record, and which of these were checked: that what they replaced is gone. Memory holds
 * the dates of the shard's index, and those that are yet to be checked. A restart lists only those of each source, and checks
 * none twice. The archive that is at work on the shard must be the only one that compacts it; where it isn't, the record in the
 * bucket decides.
 */
export class ShardRecords {
	readonly #options: ShardRecordsOptions;
	readonly #notes: NumberedRecords;
	/** By folder and key: when the store took the record, if that is known. */
	readonly #taken = new Map<string, Map<string, number | undefined>>();
	readonly #checked = new Set<string>();
	#through: UtcDate | undefined;
	#noteNumber: number | undefined;

	constructor(options: ShardRecordsOptions) {
		this.#options = options;
		const { store, shard } = options;
		const folder = store.keys.checkedCompactions(shard.number);
		this.#notes = new NumberedRecords(store, folder, digits);
	}

	/** Whether a date of the shard's index has a record, by its key, as of the last {@link look}. */
	has(key: string): boolean {
		return this.#taken.get(folderOf(key))?.has(key) ?? false;
	}

	/** A date has a record since now, or longer. */
	add(key: string): void {
		const folder = folderOf(key);
		const ofSource = this.#taken.get(folder) ?? new Map();
		this.#taken.set(folder, ofSource);
		ofSource.set(key, undefined);
	}

	/** Learns the records of sources that are new in the index, and checks those whose readers are gone. */
	async look(nowMs: number): Promise<void> {
		const { index } = this.#options.shard;
		if (this.#noteNumber === undefined) await this.#recall();
		const clocks = { nowMs, storeNowMs: await this.#storeNowMs(nowMs) };
		let checked = 0;
		const { keys } = this.#options.store;
		const folders = [...index.sources()].flatMap((source) => {
			const { account, sourceKey } = source;
			// Most sources have only rows.
			const kinds = objectKinds.filter(
				(kind) => kind === "objects" || source[kind].size > 0,
			);
			return kinds.map((kind) => ({
				folder: keys.compactionsOfSource(ofKind({ account, sourceKey }, kind)),
				dates: source[kind],
			}));
		});
		// The records of a deleted source are gone, and hold up nothing.
		const indexed = new Set(folders.map(({ folder }) => folder));
		for (const folder of this.#taken.keys())
			if (!indexed.has(folder)) this.#taken.delete(folder);
		await mapConcurrently(folders, sourcesAtOnce, async ({ folder, dates }) => {
			const ofSource = await this.#ofSource(folder, dates);
			for (const [key, listedMs] of ofSource) {
				if (this.#isChecked(key)) {
					if (!dates.has(dateOf(key))) ofSource.delete(key);
					continue;
				}
				const takenMs = listedMs ?? (await this.#takenMs(key));
				// Retention or a deletion has removed it.
				if (takenMs === undefined) ofSource.delete(key);
				else if (!hasOutlivedReaders(takenMs, clocks))
					ofSource.set(key, takenMs);
				else if (await this.#options.check(key)) {
					this.#checked.add(key);
					checked++;
				}
			}
		});
		if (checked > 0) await this.#note(nowMs);
	}

	#isChecked(key: string): boolean {
		const isBefore =
			this.#through !== undefined && dateOf(key) <= this.#through;
		return isBefore || this.#checked.has(key);
	}

	/** Lists, the first time, those that the index or a check may ask for. */
	async #ofSource(folder: string, dates: ReadonlyMap<UtcDate, unknown>) {
		const known = this.#taken.get(folder);
		if (known) return known;
		const ofSource = new Map<string, number | undefined>();
		const held = [...dates.keys()].sort()[0];
		const from =
			this.#through === undefined || held === undefined || held > this.#through
				? this.#through
				: addDays(held, -1);
		const after = from && `${folder}date=${from}.json`;
		for await (const { key, modifiedMs } of this.#options.store.list(
			folder,
			after,
		))
			ofSource.set(key, modifiedMs);
		this.#taken.set(folder, ofSource);
		return ofSource;
	}

	async #takenMs(key: string): Promise<number | undefined> {
		for await (const listed of this.#options.store.list(key))
			if (listed.key === key) return listed.modifiedMs;
		return undefined;
	}

	/** The latest known time of the store's clock: when it took the shard's newest cuts, and retention's note of today. */
	async #storeNowMs(nowMs: number): Promise<number> {
		const { store, shard } = this.#options;
		let latest = 0;
		const prefixes = [store.keys.day(utcDate(nowMs))];
		for (const [stream, { first }] of shard.index.newestOfStream)
			prefixes.push(store.keys.cut(stream, first));
		for (const prefix of prefixes)
			for await (const { modifiedMs } of store.list(prefix))
				latest = Math.max(latest, modifiedMs);
		return latest;
	}

	async #recall(): Promise<void> {
		const newest = await this.#notes.newest();
		const {
			version,
			through,
			after = {},
		}: Partial<CheckedRecords> = JSON.parse(newest?.text ?? "{}");
		// Another version's note says nothing: then all is checked anew.
		if (version === 1) {
			this.#through = through;
			for (const [folder, dates] of Object.entries(after))
				for (const date of dates)
					this.#checked.add(`${folder}date=${date}.json`);
		}
		this.#noteNumber = newest?.number ?? 0;
	}

	async #note(nowMs: number): Promise<void> {
		this.#through = this.#checkedThrough(nowMs);
		const after: CheckedRecords["after"] = {};
		for (const key of [...this.#checked].sort()) {
			const date = dateOf(key);
			if (this.#through !== undefined && date <= this.#through)
				this.#checked.delete(key);
			else {
				const folder = folderOf(key);
				after[folder] ??= [];
				after[folder].push(date);
			}
		}
		const note: CheckedRecords = {
			version: 1,
			...(this.#through !== undefined && { through: this.#through }),
			after,
		};
		// If another archive writes notes, too, each checks what it doesn't find in its own.
		await this.#notes.write(++this.#noteNumber!, note);
	}

	/** The date through which nothing is to be checked: no later compaction is of a date before it. */
	#checkedThrough(nowMs: number): UtcDate | undefined {
		const { archivedThrough } = this.#options.shard.index;
		if (archivedThrough === undefined) return this.#through;
		const closed = closedThrough(Math.min(Date.parse(archivedThrough), nowMs));
		let through = addDays(closed, -compactedDays - marginDays);
		for (const ofSource of this.#taken.values())
			for (const key of ofSource.keys()) {
				if (this.#isChecked(key)) continue;
				const before = addDays(dateOf(key), -1);
				if (before < through) through = before;
			}
		return this.#through !== undefined && through < this.#through
			? this.#through
			: through;
	}
}

function dateOf(key: string): UtcDate {
	return /date=(\d{4}-\d\d-\d\d)\.json$/.exec(key)?.[1] ?? "";
}
