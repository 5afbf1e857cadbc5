import type { ShardState } from "../../../packages/contracts/ledger.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { CutRecord } from "../decide/cut.ts";
import type { UntoldStream } from "../decide/left-frames.ts";
import type { CutLoss } from "../decide/loss.ts";
import type { NatsProgress } from "../write/nats-progress.ts";
import type { Tombstones } from "../write/tombstones.ts";
import { type IndexedSource, LedgerIndex, ledgerOf } from "./ledger-index.ts";
import type { LedgerSnapshots } from "./ledger-snapshots.ts";

const ledgersAtOnce = 16;
/** Those of more sources follow behind the cuts, at a hundred a second, so that they take little of NATS. */
const laterMs = 10 * ledgersAtOnce;
/** A restart reads little more than these records, within a second or two. */
const cutsBetweenSnapshots = 500;
/** After one that failed. */
const cutsBeforeNextTry = 50;

/** What one shard has archived, and which part isn't published yet. */
export class ShardLedger {
	/** As of the last cut whose objects are all in the store. */
	index = new LedgerIndex();
	readonly #shard: number;
	readonly #snapshots: LedgerSnapshots;
	readonly #tombstones: Tombstones;
	readonly #log: Logger;
	/** Cut records that a restart would have to read. */
	#cutsSinceSnapshot = 0;
	#snapshotAtCuts = cutsBetweenSnapshots;
	#saving: Promise<void> | undefined;
	#losses: readonly CutLoss[] = [];
	#unpublished = new Set<IndexedSource>();
	#tombstonesSeen = 0;
	#publishedLosses: string | undefined;
	#following: Promise<void> | undefined;
	#failure: unknown;

	constructor(
		shard: number,
		snapshots: LedgerSnapshots,
		tombstones: Tombstones,
		log: Logger,
	) {
		this.#shard = shard;
		this.#snapshots = snapshots;
		this.#tombstones = tombstones;
		this.#log = log;
	}

	/** Loads the newest snapshot, unless the index knows a cut already. */
	async begin(): Promise<void> {
		if (this.index.newestOfStream.size > 0) return;
		this.index = (await this.#snapshots.newest(this.#shard)) ?? this.index;
		this.#tombstonesSeen = 0;
		for (const source of this.index.sources()) this.#unpublished.add(source);
	}

	/** NATS may have lost all that was published, as it does with its disk. */
	publishAgain(): void {
		this.#publishedLosses = undefined;
		for (const source of this.index.sources()) this.#unpublished.add(source);
	}

	learn(cut: CutRecord): void {
		this.index.add(cut);
		for (const loss of this.#losses)
			if (loss.stream === cut.stream && loss.loss.from === cut.first)
				this.index.lose(loss);
		this.#cutsSinceSnapshot++;
		for (const { account, sourceKey } of cut.groups) {
			const source = this.index.source(account, sourceKey);
			if (source && this.#tombstones.has(source)) this.#forget(source);
			else if (source) this.#unpublished.add(source);
		}
	}

	/** What was decided to be lost of cuts doesn't count, whether they are known or learned from now on. */
	lose(losses: readonly CutLoss[]): void {
		this.#losses = losses;
		for (const loss of losses)
			for (const source of this.index.lose(loss)) this.#unpublished.add(source);
	}

	/** It isn't known yet what this stream held. */
	miss(stream: UntoldStream): void {
		this.index.miss(stream);
	}

	/** Forgets the sources that were deleted since the last call. */
	forgetDeleted(): void {
		const { count } = this.#tombstones;
		if (count === this.#tombstonesSeen) return;
		for (const source of this.index.sources())
			if (this.#tombstones.has(source)) this.#forget(source);
		this.#tombstonesSeen = count;
	}

	#forget(source: IndexedSource): void {
		this.index.remove(source);
		this.#unpublished.delete(source);
	}

	/**
	 * Publishes the changed ledgers and the shard's state, and writes a snapshot every {@link cutsBetweenSnapshots} cuts. The
	 * ledgers of many sources follow later, and nobody waits for a snapshot. Throws what has failed, also of those ledgers.
	 */
	async publish(progress: NatsProgress): Promise<void> {
		await this.#publishState(progress);
		if (this.#cutsSinceSnapshot >= this.#snapshotAtCuts)
			this.#saving ??= this.#save().finally(() => {
				this.#saving = undefined;
			});
		const failure = this.#failure;
		this.#failure = undefined;
		if (failure !== undefined) throw failure;
		if (this.#following !== undefined) return;
		await this.#publishSome(progress);
		if (this.#unpublished.size > 0)
			this.#following = this.#follow(progress)
				.catch((error) => {
					this.#failure = error;
				})
				.finally(() => {
					this.#following = undefined;
				});
	}

	/** A restart only takes longer without a snapshot, so a failure stops nothing. */
	async #save(): Promise<void> {
		try {
			const before = this.#cutsSinceSnapshot;
			await this.#snapshots.write(this.#shard, this.index);
			this.#cutsSinceSnapshot -= before;
			this.#snapshotAtCuts = cutsBetweenSnapshots;
		} catch (error) {
			const cuts = this.#cutsSinceSnapshot;
			this.#snapshotAtCuts = cuts + cutsBeforeNextTry;
			this.#log.warn(
				{ err: error, shard: this.#shard, cuts },
				"could not write a ledger snapshot; archiving goes on, and a restart reads so many more cut records until the next try succeeds",
			);
		}
	}

	async #follow(progress: NatsProgress): Promise<void> {
		while (this.#unpublished.size > 0) {
			await new Promise((resolve) => setTimeout(resolve, laterMs).unref());
			await this.#publishSome(progress);
		}
	}

	/** Publishes those that have waited longest. */
	async #publishSome(progress: NatsProgress): Promise<void> {
		const some = [...this.#unpublished.values().take(ledgersAtOnce)];
		await mapConcurrently(some, ledgersAtOnce, async (source) => {
			// It may change meanwhile.
			this.#unpublished.delete(source);
			const ledger = { ...ledgerOf(source), shard: this.#shard };
			await progress.setLedger(ledger).catch((error) => {
				this.#unpublished.add(source);
				throw error;
			});
		});
	}

	async #publishState(progress: NatsProgress): Promise<void> {
		const { lostFrames, unknownSince } = this.index;
		const state: ShardState = {
			version: 1,
			shard: this.#shard,
			lostFrames: Object.fromEntries(lostFrames),
			...(unknownSince && { unknownSince }),
		};
		const text = JSON.stringify(state);
		if (text === this.#publishedLosses) return;
		await progress.setShard(state);
		this.#publishedLosses = text;
	}
}
