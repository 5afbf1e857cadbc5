import type { NatsConnection } from "@nats-io/transport-node";
import type { LedgerIndex } from "../../archive/ledger/ledger-index.ts";
import type { SourceName } from "../../archive/s3/object-keys.ts";
import type { Task } from "../request/responder.ts";
import {
	endOf,
	type FlushableShard,
	flushSource,
} from "../shards/flush-source.ts";
import type { Share } from "../shards/shares.ts";
import { askShare } from "./ask-share.ts";
import { readSourceShards } from "./source-shards.ts";

/** A shard of this process, and what is archived of it. */
export interface IndexedShard extends FlushableShard {
	readonly index: LedgerIndex;
}

/**
 * Waits until every event of the source that is now in a stream of any of its shards is archived. Returns what each shard has,
 * and an instant of NATS's clock, RFC 3339: every event of the source acknowledged before it is among that, and the source
 * had no other shards then. Throws as {@link flushSource} does.
 * @param own The shard that was asked.
 */
export async function flushShares(
	connection: NatsConnection,
	own: IndexedShard,
	source: SourceName,
	task: Task,
): Promise<{ time: string; shares: Share[] }> {
	const { account, sourceKey } = source;
	// The time comes before the set of shards: what goes to a shard that the set lacks is acknowledged later.
	const end = await endOf(connection, own);
	const shards = await readSourceShards(connection, sourceKey, own.number);
	const shares = await Promise.all(
		shards.map(async (shard) => {
			if (shard !== own.number) return askShare(connection, shard, source);
			await flushSource(connection, own, sourceKey, task, end);
			return own.index.source(account, sourceKey);
		}),
	);
	return { time: end.time, shares: shares.filter((share) => !!share) };
}
