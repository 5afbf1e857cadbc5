import type { SourceName } from "../../packages/bucket/object-keys.ts";
import { S3ObjectStore } from "../../packages/bucket/s3-object-store.ts";
import type {
	AddedByDate,
	SourceLedger,
} from "../../packages/contracts/ledger.ts";
import { createLog } from "../../packages/service/log.ts";
import { connectNats } from "../../packages/service/nats/connection.ts";
import { Settings } from "../../packages/service/settings.ts";
import type { CutRecord } from "../archive/decide/cut.ts";
import { LedgerIndex, ledgerOf } from "../archive/ledger/ledger-index.ts";
import { LedgerSnapshots } from "../archive/ledger/ledger-snapshots.ts";
import { CutLossStore, isSettled } from "../archive/losses.ts";
import { readArchiveSettings } from "../archive/settings.ts";
import { CutStore } from "../archive/write/cut-store.ts";
import { NatsProgress } from "../archive/write/nats-progress.ts";
import { Tombstones } from "../archive/write/tombstones.ts";
import { AddedLedgers } from "./addition/added-ledgers.ts";
import { AdditionStore } from "./addition/addition-store.ts";
import { CompactionStore } from "./compaction/record.ts";

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
	try {
		const { replicas } = archive.stream;
		const progress = await NatsProgress.open(connection, replicas);
		const snapshots = new LedgerSnapshots(store, log);
		const tombstones = new Tombstones(store);
		await tombstones.refresh();
		const added = new AddedLedgers({
			progress: async () => progress,
			store,
			tombstones,
			log,
		});
		const additions = new AdditionStore(store);
		const ledgers = new RebuiltLedgers({
			progress,
			added,
			additions,
			tombstones,
		});
		const lossStore = new CutLossStore(store, new CompactionStore(store));
		for (const shard of archive.shards) {
			const index = new LedgerIndex();
			const losses = await lossStore.ofShard(shard);
			const add = async (cut: CutRecord, next: CutRecord | undefined) => {
				const isNewest = next?.stream !== cut.stream;
				const kept = cut.groups.filter((group) => !tombstones.has(group));
				// A newest cut may still get its objects. Archive settles that when it starts.
				if (
					!isNewest ||
					isSettled(cut, losses) ||
					(await lossStore.missing(cut, kept)).length === 0
				)
					index.add({ ...cut, groups: kept });
			};
			let before: CutRecord | undefined;
			for await (const cut of new CutStore(store).ofShard(shard)) {
				if (before) await add(before, cut);
				before = cut;
			}
			if (before) await add(before, undefined);
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

export interface RebuiltLedgersOptions {
	progress: Pick<NatsProgress, "setLedger">;
	added: Pick<AddedLedgers, "publish">;
	additions: Pick<AdditionStore, "sources">;
	tombstones: Pick<Tombstones, "has">;
}

/** Publishes what a rebuild has counted. Returns a line for each source and date: the archived events and those in quarantine. */
export class RebuiltLedgers {
	readonly #options: RebuiltLedgersOptions;
	readonly #published = new Set<string>();

	constructor(options: RebuiltLedgersOptions) {
		this.#options = options;
	}

	async publish(ledger: SourceLedger): Promise<string[]> {
		const { progress, added } = this.#options;
		this.#published.add(nameOf(ledger));
		await progress.setLedger(ledger);
		const dates = await added.publish(ledger, { anew: true });
		return linesOf(ledger, ledger, dates);
	}

	/** Of the sources without a ledger here: all their events were imported, or the others are in another archive's shards. */
	async *publishOthers(): AsyncGenerator<string> {
		const { added, additions, tombstones } = this.#options;
		for await (const source of additions.sources()) {
			if (this.#published.has(nameOf(source)) || tombstones.has(source))
				continue;
			const dates = await added.publish(source, { anew: true });
			yield* linesOf(source, { archived: {} }, dates);
		}
	}
}

function nameOf({ account, sourceKey }: SourceName): string {
	return `${account}/${sourceKey}`;
}

function linesOf(
	{ account, sourceKey }: SourceName,
	{
		archived,
		quarantined = {},
	}: Pick<SourceLedger, "archived" | "quarantined">,
	added: AddedByDate,
): string[] {
	const imported = Object.keys(added).filter((date) => added[date]?.imported);
	const counted = Object.keys({ ...archived, ...quarantined });
	const dates = [...new Set([...counted, ...imported])].sort();
	return dates.map((date) => {
		const { events = 0, imported = 0 } = added[date] ?? {};
		const apart = quarantined[date] ?? 0;
		// The records of releases stay longer than the ledger holds their dates.
		const freed = Math.min(events, apart);
		return [
			account,
			sourceKey,
			date,
			(archived[date] ?? 0) + freed + imported,
			apart - freed,
		].join("\t");
	});
}
