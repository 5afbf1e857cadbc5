import { setImmediate } from "node:timers/promises";
import {
	cutOfName,
	type ObjectKeys,
} from "../../../packages/bucket/object-keys.ts";
import { shardOfStream } from "../../../packages/contracts/nats.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { ReplacingOutput } from "../../archive/ledger/date-objects.ts";
import {
	foldersOf,
	type LedgerIndex,
} from "../../archive/ledger/ledger-index.ts";
import type { CompactionRecord, CompactionStore } from "./record.ts";

/** Reading them takes a millisecond or two, in which the process does nothing else. */
const namesAtOnce = 5_000;

interface IndexedShard {
	readonly number: number;
	readonly index: LedgerIndex;
}

/**
 * Lets a shard's index forget the objects that a compaction has replaced. Its record must be in the bucket: then nothing undoes
 * it, and whoever reads the date's objects finds it. Returns false if the index doesn't know all of them yet.
 */
export async function forgetReplaced(
	{ number, index }: IndexedShard,
	record: CompactionRecord,
): Promise<boolean> {
	const outputs: ReplacingOutput[] = [];
	let names = namesAtOnce;
	for (const { rows, inputs } of record.outputs) {
		// A record has up to some ten thousand names.
		if (names >= namesAtOnce) {
			await setImmediate();
			names = 0;
		}
		names += inputs.length;
		// A Source may have moved on that date. Then the record has the objects of one of its shards.
		if (inputs.some((name) => shardOfStream(name) === number))
			outputs.push({ rows, inputs: inputs.map(cutOfName) });
	}
	await setImmediate();
	return index.replace(record, outputs);
}

/**
 * The same for all dates that have a record and whose objects the index holds: another archive has compacted them, or this one
 * after the snapshot that the index was restored from.
 */
export async function forgetAllReplaced(
	shard: IndexedShard,
	{
		hasRecord,
		records,
		keys,
		log,
	}: {
		hasRecord: (key: string) => boolean;
		records: CompactionStore;
		keys: ObjectKeys;
		log: Logger;
	},
): Promise<void> {
	for (const source of shard.index.sources()) {
		// Thousands of sources have hundreds of thousands of dates.
		await setImmediate();
		for (const { folder, objects } of foldersOf(source)) {
			const key = keys.compaction(folder);
			if (objects.replaced !== undefined || !hasRecord(key)) continue;
			try {
				const record = await records.read(key);
				if (record) await forgetReplaced(shard, record);
			} catch (error) {
				log.warn(
					{ err: error, key },
					"a compaction record is unreadable; the ledger keeps the objects that it names in memory",
				);
			}
		}
	}
}
