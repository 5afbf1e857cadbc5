import type { ShardStop } from "../../packages/contracts/ledger.ts";
import type { Logger } from "../../packages/service/log.ts";
import { pause } from "../../packages/service/pause.ts";
import type { Shard } from "./shard.ts";
import type { NatsProgress } from "./write/nats-progress.ts";

const lookEveryMs = 10_000;
/** A failure that passes within this time stops nobody's Runs. */
const lastingMs = 60_000;

type ToldShard = Pick<Shard, "number" | "alarm" | "isFailing" | "isArchiving">;

export interface StoppedShardsOptions {
	shards: readonly ToldShard[];
	/** Why the bucket can't be used, though no shard has failed yet. */
	storeNotReady: () => string | undefined;
	/** How long frames may wait for their cut. */
	maxAgeMs: number;
	progress: () => Promise<Pick<NatsProgress, "setStopped">>;
	log: Logger;
}

/**
 * Tells the operator which shards this process has stopped, so that their Sources say so. What it told once, another archive that works
 * may take back.
 */
export class StoppedShards {
	readonly #options: StoppedShardsOptions;
	/** Since when they aren't ready, of performance.now(). */
	readonly #sinceMs = new Map<number, number>();
	readonly #told = new Map<number, string | undefined>();

	constructor(options: StoppedShardsOptions) {
		this.#options = options;
	}

	/** Looks and tells until the signal. Never throws: NATS may be away, or have no room. */
	async run(signal: AbortSignal): Promise<void> {
		const { log } = this.#options;
		while (!signal.aborted) {
			await this.look(performance.now()).catch((err) =>
				log.debug({ err }, "can't tell which shards have stopped"),
			);
			await pause(lookEveryMs, signal);
		}
	}

	async look(nowMs: number): Promise<void> {
		const { shards, progress } = this.#options;
		for (const shard of shards) {
			const stopped = this.#stopOf(shard, nowMs);
			// One that stands by, or begins, knows nothing.
			if (!stopped && !shard.isArchiving) {
				this.#told.delete(shard.number);
				continue;
			}
			const text = stopped && JSON.stringify(stopped);
			// Another archive of the shard may have told what it found, and died: one that works looks each time.
			if (stopped && this.#told.get(shard.number) === text) continue;
			await (await progress()).setStopped(shard.number, stopped);
			this.#told.set(shard.number, text);
		}
	}

	#stopOf(
		{ number, alarm, isFailing, isArchiving }: ToldShard,
		nowMs: number,
	): ShardStop | undefined {
		if (alarm) return { alarm: alarm.code };
		const { maxAgeMs, storeNotReady } = this.#options;
		const isStoreReady = storeNotReady() === undefined;
		if (!isFailing && isStoreReady) {
			this.#sinceMs.delete(number);
			return undefined;
		}
		const sinceMs = this.#sinceMs.get(number) ?? nowMs;
		this.#sinceMs.set(number, sinceMs);
		// Only its next cut shows whether one that reads again is well. What was said stands until then.
		const isUnproven =
			isArchiving && isStoreReady && this.#told.get(number) === undefined;
		const enoughMs = isUnproven ? lastingMs + maxAgeMs : lastingMs;
		return nowMs - sinceMs >= enoughMs ? {} : undefined;
	}
}
