import type { NatsConnection } from "@nats-io/transport-node";
import type { Source } from "../../crds/generated/types.ts";
import {
	type AddedLedger,
	type DeletedLedger,
	type RetentionState,
	type ShardState,
	type SourceLedger,
	sumOfLedgers,
} from "../../packages/contracts/ledger.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import type { SourceRetention } from "../../packages/contracts/retention.ts";
import type { Logger } from "../../packages/service/log.ts";
import { BucketWatch } from "../../packages/service/nats/bucket-watch.ts";
import { onReconnect } from "../../packages/service/nats/connection.ts";
import { openWatched } from "../../packages/streams/changes.ts";

/** What archive has published about each Source, as last read from NATS. */
export class LedgerView {
	readonly #nats: NatsConnection;
	readonly #log: Logger;
	/** By source key, then by the bucket's keys: a Source that has moved has one for each shard. */
	readonly #ledgers = new Map<string, ReadonlyMap<string, SourceLedger>>();
	readonly #sums = new Map<string, SourceLedger | undefined>();
	readonly #released = new Map<string, AddedLedger>();
	readonly #deleted = new Set<string>();
	readonly #shards = new Map<number, ShardState>();
	readonly #retentions = new Map<string, SourceRetention>();
	#retention: RetentionState | undefined;
	readonly #handlers: ((sourceKey: string | undefined) => void)[] = [];

	constructor(nats: NatsConnection, log: Logger) {
		this.#nats = nats;
		this.#log = log;
	}

	get(sourceKey: string): SourceLedger | undefined {
		const ofShards = this.#ledgers.get(sourceKey);
		if (!ofShards || this.#sums.has(sourceKey))
			return this.#sums.get(sourceKey);
		const sum = sumOfLedgers([...ofShards.values()]);
		this.#sums.set(sourceKey, sum);
		return sum;
	}

	/** How many of the events in the Source's ledger were released from quarantine; undefined for none. */
	released(sourceKey: string): AddedLedger | undefined {
		return this.#released.get(sourceKey);
	}

	/** How many of the Source's events are lost from the bucket by a person's word. */
	lostEvents(sourceKey: string): number {
		const lost = Object.values(this.#released.get(sourceKey)?.lost ?? {});
		return lost.reduce((sum, { events }) => sum + events, 0);
	}

	/** How long the Source's events stay; undefined if it never said anything else than usual. */
	retentionOf(sourceKey: string): SourceRetention | undefined {
		return this.#retentions.get(sourceKey);
	}

	/** Whether archive has deleted the Source's events for good. */
	isDeleted(sourceKey: string): boolean {
		return this.#deleted.has(sourceKey);
	}

	/** How long events stay, and who removes them; undefined until archive has published it. */
	get retention(): RetentionState | undefined {
		return this.#retention;
	}

	shard(shard: number): ShardState | undefined {
		return this.#shards.get(shard);
	}

	/** All that archive has told of. */
	get shards(): ShardState[] {
		return [...this.#shards.values()];
	}

	/** Called after every change, with the source key, or undefined if more than one Source may be concerned. */
	onChange(handler: (sourceKey: string | undefined) => void): void {
		this.#handlers.push(handler);
	}

	/** Follows the bucket until the signal. Never throws. Archive creates the bucket at its first start. */
	run(signal: AbortSignal): Promise<void> {
		const watch = new BucketWatch(
			() => openWatched(this.#nats, bucket.ledger),
			{
				set: (key, value) => {
					if (value !== undefined) this.#take(key, JSON.parse(value));
				},
			},
			this.#log,
		);
		// NATS may have been rebuilt, with a new bucket.
		void onReconnect(this.#nats, () => watch.readAgain());
		return watch.run(signal);
	}

	#takeLedger(key: string, ledger: SourceLedger): void {
		const { sourceKey } = ledger;
		// Another shard's archive may have been late when the events were deleted.
		if (this.#deleted.has(sourceKey)) return;
		const ofShards = this.#ledgers.get(sourceKey) ?? [];
		this.#ledgers.set(sourceKey, withLedger(ofShards, key, ledger));
		this.#sums.delete(sourceKey);
	}

	#take(
		key: string,
		entry:
			| SourceLedger
			| AddedLedger
			| DeletedLedger
			| RetentionState
			| SourceRetention
			| ShardState,
	): void {
		if ("enforcedBy" in entry) this.#retention = entry;
		else if ("lostFrames" in entry) this.#shards.set(entry.shard, entry);
		else if ("from" in entry) this.#retentions.set(entry.sourceKey, entry);
		else if ("released" in entry) this.#released.set(entry.sourceKey, entry);
		else if ("deletedTime" in entry) {
			this.#deleted.add(key);
			this.#ledgers.delete(key);
			this.#sums.delete(key);
			this.#released.delete(key);
			this.#retentions.delete(key);
		} else this.#takeLedger(key, entry);
		for (const handler of this.#handlers)
			handler("sourceKey" in entry ? entry.sourceKey : undefined);
	}
}

/**
 * A Source's ledgers, by the bucket's keys, with one that came later. After a NATS was rebuilt, a shard's ledger may stand under
 * another key than before.
 */
export function withLedger(
	ofShards: Iterable<[string, SourceLedger]>,
	key: string,
	ledger: SourceLedger,
): Map<string, SourceLedger> {
	const others = [...ofShards].filter(
		([, { shard }]) => shard === undefined || shard !== ledger.shard,
	);
	return new Map(others).set(key, ledger);
}

/** How long the Source's events stay, as archive said last; undefined for the usual time. */
export function retentionIn(
	source: Source | undefined,
): { days: number; from?: string } | undefined {
	const { days, from } = source?.status?.retention ?? {};
	return days === undefined
		? undefined
		: { days, ...(from !== undefined && { from }) };
}
