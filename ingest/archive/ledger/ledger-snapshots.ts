import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type {
	ListedObject,
	Store,
} from "../../../packages/bucket/object-store.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { LedgerIndex } from "./ledger-index.ts";
import {
	captureDate,
	captureRoot,
	partText,
	readSnapshot,
	type SnapshotRoot,
} from "./snapshot-format.ts";

/** The newest, and one in reserve. */
const kept = 2;
/** Making or reading the text of such a part takes up to 10 ms, in which the process does nothing else, and leaves garbage. */
const usualPartBytes = 512 * 1024;
const partsAtOnce = 2;
/** Another archiver may be about to write the snapshot that names a part. */
const abandonedMs = 3_600_000;

/** A date's parts in the store, and the date's changes that they have. */
interface WrittenDate {
	changes: number;
	keys: string[];
}

/**
 * Copies of a shard's {@link LedgerIndex} in the store, so that a restart needn't read weeks of cut records. A snapshot
 * says nothing that the records don't say. If it is missing, old or unreadable, the start just takes longer. Each is a small
 * object that names parts of each date; those of dates that haven't changed are of an earlier one.
 */
export class LedgerSnapshots {
	readonly #store: Store;
	readonly #log: Logger;
	readonly #partBytes: number;
	readonly #written = new WeakMap<LedgerIndex, Map<UtcDate, WrittenDate>>();

	/** @param partBytes Another one is for tests. */
	constructor(store: Store, log: Logger, partBytes = usualPartBytes) {
		this.#store = store;
		this.#log = log;
		this.#partBytes = partBytes;
	}

	/** The newest snapshot that is readable; undefined if there is none. */
	async newest(shard: number): Promise<LedgerIndex | undefined> {
		for (const { key } of snapshotsIn(await this.#listed(shard)).reverse())
			try {
				const text = await this.#store.get(key);
				if (text !== undefined) return await this.#read(text);
			} catch (error) {
				this.#log.warn(
					{ err: error, key },
					"a ledger snapshot is unreadable; an earlier one or all cut records are read instead",
				);
			}
		return undefined;
	}

	async #read(text: string): Promise<LedgerIndex> {
		const index = await readSnapshot(text, async (keys, add) => {
			await mapConcurrently(keys, partsAtOnce, async (key) => {
				const part = await this.#store.get(key);
				if (part === undefined) throw new Error(`its part ${key} is gone`);
				await setImmediate();
				add(part);
			});
		});
		this.#written.set(index, datesOf(text));
		return index;
	}

	/** Writes what the index knows now, and of its dates those that have changed since the last snapshot. */
	async write(shard: number, index: LedgerIndex): Promise<void> {
		if (index.archivedThrough === undefined) return;
		const listed = await this.#listed(shard);
		const before = snapshotsIn(listed);
		const number = numberOf(before.at(-1)?.key) + 1;
		const name = `${number}-${randomBytes(4).toString("hex")}`;
		const { keys } = this.#store;
		// From here to the first await, so that no cut comes in between.
		const root = captureRoot(index);
		const known = this.#written.get(index);
		const isThere = new Set(listed.map(({ key }) => key));
		const written = new Map<UtcDate, WrittenDate>();
		const parts: { key: string; text: () => string }[] = [];
		for (const [date, changes] of index.changesOfDate) {
			const last = known?.get(date);
			if (last?.changes === changes && last.keys.every((k) => isThere.has(k))) {
				written.set(date, last);
				continue;
			}
			const captured = captureDate(index, date, this.#partBytes);
			const own = captured.map((sources, part) => {
				const key = keys.ledgerPart(shard, date, `${name}-${part}`);
				parts.push({ key, text: () => partText(date, sources) });
				return key;
			});
			written.set(date, { changes, keys: own });
		}
		await mapConcurrently(parts, partsAtOnce, async ({ key, text }) => {
			await setImmediate();
			await this.#store.putNew(key, text(), "application/json");
		});
		const dates = Array.from(
			written,
			([date, { keys }]): SnapshotRoot["dates"][number] => [date, keys],
		);
		const own = keys.ledger(shard, number);
		const text = JSON.stringify({ ...root, dates });
		const put = await this.#store.putNew(own, text, "application/json");
		// Another archiver has written the one of this number. What it has left out comes with the next one.
		if (put === "exists") return;
		this.#written.set(index, written);
		await this.#removeOld(listed, written);
	}

	/** Removes what neither the snapshot that was just written nor the one in reserve names. */
	async #removeOld(
		listed: readonly ListedObject[],
		written: ReadonlyMap<UtcDate, WrittenDate>,
	): Promise<void> {
		const snapshots = snapshotsIn(listed).map(({ key }) => key);
		const reserve = snapshots.slice(1 - kept);
		const named = new Set(reserve);
		for (const { keys } of written.values())
			for (const key of keys) named.add(key);
		for (const key of reserve)
			for (const { keys } of datesOf(await this.#store.get(key)).values())
				for (const key of keys) named.add(key);
		const newestMs = Math.max(
			...listed
				.map(({ modifiedMs }) => modifiedMs)
				.filter((ms) => Number.isFinite(ms)),
		);
		const old = listed.filter(
			({ key, modifiedMs }) =>
				!named.has(key) &&
				(!isPart(key) || newestMs - modifiedMs > abandonedMs),
		);
		await this.#store.remove(old.map(({ key }) => key));
	}

	async clear(shard: number): Promise<void> {
		const listed = await this.#listed(shard);
		await this.#store.remove(listed.map(({ key }) => key));
	}

	#listed(shard: number): Promise<ListedObject[]> {
		const { keys } = this.#store;
		return Array.fromAsync(this.#store.list(keys.ledgersOfShard(shard)));
	}
}

function isPart(key: string): boolean {
	return key.includes("/parts/date=");
}

/** The newest last. */
function snapshotsIn(listed: readonly ListedObject[]): ListedObject[] {
	return listed.filter(({ key }) => !isPart(key));
}

/** 0 for one of an earlier version, and for none. */
function numberOf(key = ""): number {
	return Number(/snapshot-(\d+)\.json$/.exec(key)?.[1] ?? 0);
}

/** The parts that a snapshot names; none if it has none, or is unreadable. */
function datesOf(text: string | undefined): Map<UtcDate, WrittenDate> {
	const written = new Map<UtcDate, WrittenDate>();
	try {
		const { dates = [] }: Partial<SnapshotRoot> = JSON.parse(text ?? "{}");
		for (const [date, keys] of dates) written.set(date, { changes: 0, keys });
	} catch {
		// Its archiver was of another version.
	}
	return written;
}
