import type { NatsConnection } from "@nats-io/transport-node";
import type { Store } from "../../packages/bucket/object-store.ts";
import { S3ObjectStore } from "../../packages/bucket/s3-object-store.ts";
import { placeOf } from "../../packages/bucket/store-settings.ts";
import type { Logger } from "../../packages/service/log.ts";
import { createLog } from "../../packages/service/log.ts";
import { connectNats } from "../../packages/service/nats/connection.ts";
import { Settings } from "../../packages/service/settings.ts";
import { refusalOf } from "../archive/decide/bucket-verdict.ts";
import { LedgerSnapshots } from "../archive/ledger/ledger-snapshots.ts";
import { readArchiveSettings } from "../archive/settings.ts";
import { BucketMarks } from "../archive/write/bucket-marks.ts";
import { NatsProgress } from "../archive/write/nats-progress.ts";
import { Tombstones } from "../archive/write/tombstones.ts";
import { AddedLedgers } from "./addition/added-ledgers.ts";
import { CompactionStore } from "./compaction/record.ts";
import type { Replacements } from "./objects/replacements.ts";
import { type CountedShard, countShard } from "./verify/counted-shard.ts";

/** What commands about the ledger work with: archive's settings, its bucket and NATS. They can run beside archive. */
export interface LedgerTools {
	shards: readonly number[];
	store: Store;
	tombstones: Tombstones;
	replaced: Replacements;
	snapshots: LedgerSnapshots;
	/** Names the bucket and the folder. */
	place: string;
	marks: BucketMarks;
	connect: () => Promise<NatsConnection>;
	/** Connects to NATS. */
	progress: () => Promise<NatsProgress>;
	added: AddedLedgers;
	log: Logger;
}

/** Returns the work's exit code. */
export async function withLedgerTools(
	work: (tools: LedgerTools) => Promise<number>,
): Promise<number> {
	const log = createLog("ledger");
	const settings = new Settings();
	const { shards, stream, ...archive } = readArchiveSettings(settings, log);
	const store = new S3ObjectStore(archive.store, new AbortController().signal);
	let opened: ReturnType<typeof connectNats> | undefined;
	const connect = () => {
		opened ??= connectNats(settings, "archive", log);
		return opened;
	};
	const progress = async () =>
		NatsProgress.open(await connect(), stream.replicas);
	const marks = new BucketMarks(store);
	const place = placeOf(archive.store);
	const tombstones = new Tombstones(store);
	try {
		await tombstones.refresh();
		const replaced = new CompactionStore(store);
		const snapshots = new LedgerSnapshots(store, log);
		const added = new AddedLedgers({ progress, store, tombstones, log });
		return await work({
			...{ shards, store, place, marks, tombstones, replaced, snapshots },
			...{ connect, progress, added, log },
		});
	} finally {
		await opened?.then(
			(connection) => connection.close(),
			() => undefined,
		);
		store.close();
	}
}

/** Throws if archive may not use the bucket: nothing may be counted or changed in it. */
export async function requireBucket({
	progress,
	marks,
	place,
}: Pick<LedgerTools, "progress" | "marks" | "place">): Promise<void> {
	const known = await (await progress()).bucket();
	const refusal = refusalOf(known, await marks.newest(), place);
	if (refusal !== undefined) throw new Error(refusal);
}

/** The shards as archive knows them after a start, with what the newest cuts should have by now. */
export async function countShards({
	shards,
	snapshots,
	...tools
}: LedgerTools): Promise<CountedShard[]> {
	const counted: CountedShard[] = [];
	for (const shard of shards)
		counted.push(
			await countShard(shard, tools, await snapshots.newest(shard), Date.now()),
		);
	return counted;
}
