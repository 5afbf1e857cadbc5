import type { NatsConnection } from "@nats-io/transport-node";
import type { Store } from "../../packages/bucket/object-store.ts";
import type { S3ObjectStore } from "../../packages/bucket/s3-object-store.ts";
import { FairLimit } from "../../packages/fair/fair-limit.ts";
import { FairRoom } from "../../packages/fair/fair-room.ts";
import type { Logger } from "../../packages/service/log.ts";
import { repeatedly } from "../../packages/service/repetition.ts";
import type { BucketGuard } from "../archive/bucket-guard.ts";
import type { ArchiveSettings } from "../archive/settings.ts";
import type { Shard } from "../archive/shard.ts";
import type { ArchiveMetrics } from "../archive/write/archive-metrics.ts";
import { NatsProgress } from "../archive/write/nats-progress.ts";
import type { Tombstones } from "../archive/write/tombstones.ts";
import { AddedLedgers } from "./addition/added-ledgers.ts";
import { Compactor } from "./compaction/compactor.ts";
import { CompactionStore } from "./compaction/record.ts";
import { ErasureStore } from "./erasure/erasure-store.ts";
import { answerErasures } from "./erasure/erasures.ts";
import { answerEvents } from "./events/responder.ts";
import { RowThread } from "./events/row-thread.ts";
import { Lister } from "./lists/lister.ts";
import { answerExports } from "./manifest/exports.ts";
import { answerImports } from "./manifest/imports.ts";
import { answerManifests } from "./manifest/manifests.ts";
import { answerLogs, answerResults } from "./manifest/results.ts";
import { answerUploads } from "./manifest/uploads.ts";
import type { Replacements } from "./objects/replacements.ts";
import { answerReleases } from "./release/releases.ts";
import type { LakeContext } from "./request/context.ts";
import { answerCounts } from "./request/counts.ts";
import { RequestFailure } from "./request/errors.ts";
import { LakeShard } from "./request/lake-shard.ts";
import { type Answers, Responder } from "./request/responder.ts";
import { answerShares } from "./request/shares.ts";
import { answerDeletions, sweepDeleted } from "./retention/deletion.ts";
import { RetentionKeeper } from "./retention/retention-keeper.ts";
import { answerRetention } from "./retention/set-retention.ts";
import { Turns } from "./retention/turns.ts";
import { maxHeldBytes } from "./tail/held-frames.ts";
import { ShardTails } from "./tail/shard-tails.ts";

const hourMs = 3_600_000;

export interface LakeOptions {
	connection: NatsConnection;
	settings: ArchiveSettings;
	/** That archive writes in this process. */
	shards: readonly Shard[];
	store: S3ObjectStore;
	tombstones: Tombstones;
	metrics: ArchiveMetrics;
	log: Logger;
	/** Until it lets archive use the bucket, nothing is answered from it. */
	guard: Pick<BucketGuard, "notReady" | "isRefused">;
}

/** What replaces objects of the bucket. */
export function replacementsIn(store: Store): Replacements {
	return new CompactionStore(store);
}

/**
 * Answers questions about stored events, and changes them: releases, imports, compaction, retention and deletion. Archive, which
 * makes events safe, knows nothing of it.
 */
export class Lake {
	readonly #options: LakeOptions;
	readonly #context: LakeContext;
	readonly #responders: { close(): void }[];
	readonly #shards: LakeShard[];
	readonly #retention: RetentionKeeper;
	readonly #released: AddedLedgers;
	readonly #turns: Turns;

	/** Answers from now on. */
	constructor(options: LakeOptions) {
		this.#options = options;
		const { connection, settings, metrics, guard, ...shared } = options;
		const { store, log, shards } = shared;
		const { replicas } = settings.stream;
		const progress = () => NatsProgress.open(connection, replicas);
		this.#shards = shards.map((shard) => new LakeShard(connection, shard));
		this.#released = new AddedLedgers({ ...shared, progress });
		this.#turns = new Turns(store);
		this.#retention = new RetentionKeeper({
			store,
			turns: this.#turns,
			shards: this.#shards,
			publish: async (retention, sources) => {
				const published = await progress();
				await published.setRetention(retention);
				for (const source of sources)
					await published.setSourceRetention(source);
			},
			metrics,
			log,
		});
		const held = new FairRoom(maxHeldBytes);
		const tails = shards.map(
			({ number: shard }) => new ShardTails({ connection, shard, held, log }),
		);
		metrics.observeTails(tails);
		const context: LakeContext = {
			...shared,
			replaced: replacementsIn(store),
			counted: new ErasureStore(store),
			metrics,
			authorities: () => settings.store.authorities,
			reading: new FairLimit({ atOnce: 2 }),
			changing: new FairLimit({ atOnce: 1 }),
			progress,
			scratch: settings.scratch,
		};
		this.#context = context;
		const asked = { connection, log, requireReady: () => requireBucket(guard) };
		const thread = new RowThread();
		const ofAny = {
			log: answerLogs(context),
			counts: answerCounts(context),
			export: answerExports(context),
			upload: answerUploads(context),
		};
		this.#responders = [
			...tails,
			new Responder({ ...asked, shard: 0 }, ofAny),
			...this.#shards.map((shard) => {
				const answers: Omit<Answers, keyof typeof ofAny> = {
					manifest: answerManifests(context, shard),
					result: answerResults(context),
					share: answerShares(shard),
					deletion: answerDeletions(context, shard),
					events: answerEvents(context, shard, thread),
					retention: answerRetention(context, shard, this.#retention),
					import: answerImports(context, this.#released),
					release: answerReleases(context, shard, this.#released),
					erasure: answerErasures(context, shard),
				};
				return new Responder({ ...asked, shard: shard.number }, answers);
			}),
		];
	}

	/** Compacts, counts and removes what is due until the signal fires. Settles afterwards. */
	async run(signal: AbortSignal): Promise<void> {
		const { settings, metrics, log } = this.#options;
		const compactor = new Compactor({
			...this.#options,
			...settings.compaction,
			// Twice a cut's age limit: the cut is overdue.
			maxLagSeconds: (2 * settings.limits.maxAgeMs) / 1000 + 1,
			scratch: settings.scratch,
		});
		const lister = new Lister({
			...this.#options,
			...settings.lists,
			replaced: this.#context.replaced,
			bucket: settings.store.bucket,
			shards: this.#shards,
			retentions: this.#retention.retentions,
			objectsDone: async (stream) =>
				(await this.#context.progress()).objectsDone(stream),
		});
		const hourly = (name: string, what: string, work: () => Promise<unknown>) =>
			repeatedly(what, work, {
				intervalMs: hourMs,
				log,
				signal,
				tell: (isFailing) => metrics.tellWork(name, isFailing),
			});
		/** Of the whole bucket, so one archive is enough. */
		const inTurn = (name: string, what: string, work: () => Promise<unknown>) =>
			hourly(name, what, async () => {
				if (await this.#turns.take(name, Date.now())) await work();
			});
		await Promise.all([
			hourly("retention", "retention", () =>
				this.#retention.keepInTurn(Date.now()),
			),
			inTurn("deleted-sources", "the sweep of deleted sources", () =>
				sweepDeleted(this.#context, signal),
			),
			// This covers a killed archive and a rebuilt NATS.
			inTurn("released-events", "counting released events", () =>
				this.#released.publishAll(signal),
			),
			compactor.run(signal),
			lister.run(signal),
			inTurn("older-lists", "the search for lists of older dates", () =>
				lister.lookBack(Date.now(), signal),
			),
		]);
	}

	/** Takes no more questions. */
	close(): void {
		for (const responder of this.#responders) responder.close();
	}
}

/** Throws {@link RequestFailure} if archive may not use the bucket, or doesn't know yet. */
function requireBucket({
	notReady,
	isRefused,
}: Pick<BucketGuard, "notReady" | "isRefused">): void {
	if (notReady === undefined) return;
	throw isRefused
		? new RequestFailure(
				"BucketRefused",
				"Archive was given another bucket than before, or an older copy of it",
				{ internals: notReady },
			)
		: new RequestFailure("StoreUnavailable", "Archive is starting", {
				internals: notReady,
			});
}
