import { setTimeout as sleep } from "node:timers/promises";
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import type {
	DeletedLedger,
	RetentionState,
	ShardState,
	SourceLedger,
} from "../../contracts/ledger.ts";
import { bucket } from "../../contracts/nats.ts";
import type { Logger } from "../../service/log.ts";
import { onReconnect } from "../../service/nats.ts";

/** What archive has published about each Source, as last read from NATS. */
export class LedgerView {
	readonly #nats: NatsConnection;
	readonly #log: Logger;
	readonly #ledgers = new Map<string, SourceLedger>();
	readonly #deleted = new Set<string>();
	readonly #shards = new Map<number, ShardState>();
	#retention: RetentionState | undefined;
	readonly #handlers: ((sourceKey: string | undefined) => void)[] = [];

	constructor(nats: NatsConnection, log: Logger) {
		this.#nats = nats;
		this.#log = log;
	}

	get(sourceKey: string): SourceLedger | undefined {
		return this.#ledgers.get(sourceKey);
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

	/** Called after every change, with the source key, or undefined if more than one Source may be concerned. */
	onChange(handler: (sourceKey: string | undefined) => void): void {
		this.#handlers.push(handler);
	}

	/** Follows the bucket until the signal. Never throws. Archive creates the bucket at its first start. */
	async run(signal: AbortSignal): Promise<void> {
		let entries: Awaited<ReturnType<KV["watch"]>> | undefined;
		const stop = () => entries?.stop();
		signal.addEventListener("abort", stop, { once: true });
		// NATS may have been rebuilt, with a new bucket.
		void onReconnect(this.#nats, stop);
		while (!signal.aborted) {
			try {
				const kv = await new Kvm(this.#nats).open(bucket.ledger);
				entries = await kv.watch();
				for await (const entry of entries)
					if (entry.operation === "PUT") this.#take(entry.key, entry.json());
			} catch (err) {
				this.#log.debug({ err }, "the ledger can't be read yet");
			}
			await sleep(1_000, undefined, { signal }).catch(() => {});
		}
	}

	#take(
		key: string,
		entry: SourceLedger | DeletedLedger | RetentionState | ShardState,
	): void {
		const isOfAll = "enforcedBy" in entry || "lostFrames" in entry;
		if ("enforcedBy" in entry) this.#retention = entry;
		else if ("lostFrames" in entry) this.#shards.set(entry.shard, entry);
		else if ("deletedTime" in entry) {
			this.#deleted.add(key);
			this.#ledgers.delete(key);
		} else this.#ledgers.set(key, entry);
		for (const handler of this.#handlers) handler(isOfAll ? undefined : key);
	}
}
