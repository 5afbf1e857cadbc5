import type { Deviations } from "../../../packages/contracts/ledger.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { ObjectStore } from "../s3/object-store.ts";
import { DateObjects } from "./date-objects.ts";
import {
	type CutEnds,
	type IndexedSource,
	LedgerIndex,
} from "./ledger-index.ts";

/** The newest, and one in reserve. */
const kept = 2;

/**
 * Copies of a shard's {@link LedgerIndex} in the store, so that a restart needn't read weeks of cut records. A snapshot
 * says nothing that the records don't say. If it is missing, old or unreadable, the start just takes longer.
 */
export class LedgerSnapshots {
	readonly #store: ObjectStore;
	readonly #log: Logger;

	constructor(store: ObjectStore, log: Logger) {
		this.#store = store;
		this.#log = log;
	}

	/** The newest snapshot that is readable; undefined if there is none. */
	async newest(shard: number): Promise<LedgerIndex | undefined> {
		for (const key of (await this.#listed(shard)).reverse())
			try {
				const text = await this.#store.get(key);
				if (text !== undefined) return read(JSON.parse(text));
			} catch (error) {
				this.#log.warn(
					{ err: error, key },
					"a ledger snapshot is unreadable; an earlier one or all cut records are read instead",
				);
			}
		return undefined;
	}

	async write(shard: number, index: LedgerIndex): Promise<void> {
		if (index.archivedThrough === undefined) return;
		const before = await this.#listed(shard);
		const key = this.#store.keys.ledger(shard, numberOf(before.at(-1)) + 1);
		const text = JSON.stringify(snapshotOf(index));
		await this.#store.putNew(key, text, "application/json");
		await this.#store.remove([...before, key].slice(0, -kept));
	}

	async clear(shard: number): Promise<void> {
		await this.#store.remove(await this.#listed(shard));
	}

	#listed(shard: number): Promise<string[]> {
		const listed = this.#store.list(this.#store.keys.ledgersOfShard(shard));
		return Array.fromAsync(listed, ({ key }) => key);
	}
}

/** 0 for one of an earlier version, and for none. */
function numberOf(key = ""): number {
	return Number(/snapshot-(\d+)\.json$/.exec(key)?.[1] ?? 0);
}

/** `stream` is an index into `streams`. `packed`: see {@link DateObjects.packed}. */
type PackedDates = [UtcDate, [stream: number, packed: string][]][];

interface Snapshot {
	version: 3;
	streams: [stream: string, ends: CutEnds][];
	days: UtcDate[];
	lostFrames: [UtcDate, number][];
	sources: (Omit<IndexedSource, "objects" | "quarantined" | "deviations"> & {
		objects: PackedDates;
		quarantined: PackedDates;
		deviations: [UtcDate, Deviations][];
	})[];
}

function snapshotOf(index: LedgerIndex): Snapshot {
	const streams = [...index.newestOfStream];
	const numbers = new Map(streams.map(([stream], number) => [stream, number]));
	const pack = (dates: IndexedSource["objects"]): PackedDates =>
		[...dates].map(([date, objects]) => [
			date,
			[...objects.packed()].map(([stream, packed]) => [
				numbers.get(stream)!,
				packed,
			]),
		]);
	return {
		version: 3,
		streams,
		days: [...index.days],
		lostFrames: [...index.lostFrames],
		sources: [...index.sources()].map((source) => ({
			...source,
			objects: pack(source.objects),
			quarantined: pack(source.quarantined),
			deviations: [...source.deviations],
		})),
	};
}

function read({ version, streams, sources, ...rest }: Snapshot): LedgerIndex {
	if (version !== 3) throw new Error(`it has version ${version}`);
	const unpack = (dates: PackedDates): IndexedSource["objects"] =>
		new Map(
			dates.map(([date, objects]) => [
				date,
				DateObjects.unpacked(
					objects.map(([stream, packed]) => [streams[stream]![0], packed]),
				),
			]),
		);
	return LedgerIndex.of({
		newestOfStream: streams,
		...rest,
		sources: sources.map((source) => ({
			...source,
			objects: unpack(source.objects),
			quarantined: unpack(source.quarantined),
			deviations: new Map(source.deviations),
		})),
	});
}
