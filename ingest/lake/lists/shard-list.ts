import { shardOfStream } from "../../../packages/contracts/nats.ts";
import type { IndexedObject } from "../../archive/ledger/date-objects.ts";
import { type CompactionRecord, visibleObjects } from "../compaction/record.ts";

/** What a compaction record changes in the list of one shard. */
export interface ListedCompaction {
	/** How many of the shard's objects are replaced. */
	replaced: number;
	/** The objects that count in their place. */
	outputs: string[];
}

/**
 * What the record says of a shard. A Source may have moved on that date: then the record has the objects of one of its shards,
 * and each shard's list has its own.
 */
export function compactionOfShard(
	record: CompactionRecord | undefined,
	shard: number,
): ListedCompaction {
	const own = (record?.outputs ?? []).filter(({ inputs }) =>
		inputs.some((name) => shardOfStream(name) === shard),
	);
	return {
		replaced: own.flatMap(({ inputs }) => inputs).length,
		outputs: own.map(({ name }) => name),
	};
}

/** The names of the objects with the events that a shard has of a date, each once: what compaction left, and what came after it. */
export function namesInList(
	shard: number,
	objects: readonly IndexedObject[],
	nameOf: (object: IndexedObject) => string,
	record: CompactionRecord | undefined,
): string[] {
	const { originals } = visibleObjects(objects, nameOf, record);
	const { outputs } = compactionOfShard(record, shard);
	return [...outputs, ...originals.map(nameOf)];
}

/**
 * How long the list is, without making it: all of a shard's objects have names of one length. A date has up to some ten thousand
 * objects, a shard some ten thousand dates, and few of those have changed since the list was written.
 * @param lineBytes of a name, with what stands around it in its line.
 */
export function expectedBytes(
	objects: { count: number } & Iterable<IndexedObject>,
	nameOf: (object: IndexedObject) => string,
	{ replaced, outputs }: ListedCompaction = { replaced: 0, outputs: [] },
	lineBytes: (name: string) => number,
): number {
	const [sample] = objects;
	const each = sample ? lineBytes(nameOf(sample)) : 0;
	return outputs.reduce(
		(sum, name) => sum + lineBytes(name),
		(objects.count - replaced) * each,
	);
}
