import { createLog } from "../../packages/service/log.ts";
import { connectNats } from "../../packages/service/nats/connection.ts";
import { Settings } from "../../packages/service/settings.ts";
import { LedgerIndex, ledgerOf } from "../archive/ledger/ledger-index.ts";
import { LedgerSnapshots } from "../archive/ledger/ledger-snapshots.ts";
import { CutLossStore } from "../archive/losses/cut-loss-store.ts";
import { isSettled } from "../archive/losses/cut-state.ts";
import { ObjectKeys } from "../archive/s3/object-keys.ts";
import { S3ObjectStore } from "../archive/s3/s3-object-store.ts";
import { readArchiveSettings } from "../archive/settings.ts";
import { CutStore } from "../archive/write/cut-store.ts";
import { NatsProgress } from "../archive/write/nats-progress.ts";
import { Tombstones } from "../archive/write/tombstones.ts";
import { RebuiltLedgers } from "./command/rebuilt-ledgers.ts";
import { CompactionStore } from "./compaction/compaction-store.ts";
import { ReleaseStore } from "./release/release-store.ts";
import { ReleasedLedgers } from "./release/released-ledgers.ts";

/**
 * `tidemill ledger rebuild`: derives the ledgers of archive's shards from the records of cuts, releases and imports alone,
 * publishes them, and replaces the snapshots. It reads archive's settings and can run beside archive. Prints the events per
 * source and date, archived ones and those in quarantine.
 */
export async function main(): Promise<number> {
	const log = createLog("ledger");
	const settings = new Settings();
	const archive = readArchiveSettings(settings, log);
	const connection = await connectNats(settings, "archive", log);
	const store = new S3ObjectStore(archive.store, new AbortController().signal);
	const keys = new ObjectKeys(archive.prefix);
	try {
		const { replicas } = archive.stream;
		const progress = await NatsProgress.open(connection, replicas);
		const snapshots = new LedgerSnapshots(store, keys, log);
		const tombstones = new Tombstones(store, keys);
		await tombstones.refresh();
		const released = new ReleasedLedgers({
			progress: async () => progress,
			store,
			keys,
			tombstones,
			log,
		});
		const releases = new ReleaseStore(store, keys);
		const ledgers = new RebuiltLedgers({
			progress,
			released,
			releases,
			tombstones,
		});
		const lossStore = new CutLossStore(
			store,
			keys,
			new CompactionStore(store, keys),
		);
		for (const shard of archive.shards) {
			const index = new LedgerIndex();
			const cuts = await new CutStore(store, keys).ofShard(shard);
			const losses = await lossStore.ofShard(shard);
			for (const [number, cut] of cuts.entries()) {
				const isNewest = cuts[number + 1]?.stream !== cut.stream;
				const kept = cut.groups.filter((group) => !tombstones.has(group));
				// A newest cut may still get its objects. Archive settles that when it starts.
				if (
					!isNewest ||
					isSettled(cut, losses) ||
					(await lossStore.missing(cut, kept)).length === 0
				)
					index.add({ ...cut, groups: kept });
			}
			for (const loss of losses) index.lose(loss);
			await snapshots.clear(shard);
			await snapshots.write(shard, index);
			for (const source of index.sources()) {
				const lines = await ledgers.publish({ ...ledgerOf(source), shard });
				for (const line of lines) console.log(line);
			}
		}
		for await (const line of ledgers.publishOthers()) console.log(line);
	} finally {
		await connection.close();
		store.close();
	}
	return 0;
}
