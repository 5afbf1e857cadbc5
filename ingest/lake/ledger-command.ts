import type { SourceName } from "../../packages/bucket/object-keys.ts";
import type {
	AddedByDate,
	SourceLedger,
} from "../../packages/contracts/ledger.ts";
import { ledgerOf } from "../archive/ledger/ledger-index.ts";
import { CutStore } from "../archive/write/cut-store.ts";
import type { NatsProgress } from "../archive/write/nats-progress.ts";
import type { Tombstones } from "../archive/write/tombstones.ts";
import type { AddedLedgers } from "./addition/added-ledgers.ts";
import { AdditionStore } from "./addition/addition-store.ts";
import { requireBucket, withLedgerTools } from "./ledger-tools.ts";
import { countShard } from "./verify/counted-shard.ts";
import { type FolderFindings, Verification } from "./verify/verification.ts";

/**
 * `tidemill ledger rebuild`: derives the ledgers from the records of cuts, releases and imports alone, publishes them, and replaces
 * the snapshots: of all shards that have records, whichever archive they belong to. It reads archive's settings and can run beside
 * archive. Prints the events per source and date: those that are there, those in quarantine, and those whose objects are missing, if
 * any are. Returns 1 then.
 */
export async function main(): Promise<number> {
	return withLedgerTools(async (tools) => {
		const { store, tombstones, snapshots, added } = tools;
		await requireBucket(tools);
		const progress = await tools.progress();
		const additions = new AdditionStore(store);
		const ledgers = new RebuiltLedgers({
			progress,
			added,
			additions,
			tombstones,
		});
		let isWhole = true;
		const absentOf = async (verification: Verification, source: SourceName) => {
			const absent = new AbsentRows();
			for await (const found of verification.ofSource(source)) {
				absent.add(found);
				if (found.missing.length > 0) isWhole = false;
			}
			return absent;
		};
		const counted = await new CutStore(store).shards();
		for (const number of new Set([...tools.shards, ...counted])) {
			const shard = await countShard(number, tools);
			const { index, gaps } = shard;
			await snapshots.clear(number);
			await snapshots.write(number, index);
			const verification = await Verification.open({
				...tools,
				shards: [shard],
			});
			for (const source of index.sources()) {
				const absent = await absentOf(verification, source);
				const lines = await ledgers.publish(
					{ ...ledgerOf(source), shard: number },
					absent,
				);
				for (const line of lines) console.log(line);
			}
			for (const { stream, from, to } of gaps) {
				isWhole = false;
				console.error(
					`The cut records of sequences ${from} to ${to} of stream ${stream} are missing, so their events aren't counted. Restore them, and rebuild again.`,
				);
			}
		}
		const others = await Verification.open({ ...tools, shards: [] });
		for await (const line of ledgers.publishOthers((source) =>
			absentOf(others, source),
		))
			console.log(line);
		if (isWhole) return 0;
		console.error(
			"Something is missing in the bucket. `tidemill ledger verify` names it, and the command that accepts its loss.",
		);
		return 1;
	});
}

/** Rows of a source whose objects aren't in the bucket, by date. */
export class AbsentRows {
	readonly #rows = {
		rows: new Map<string, number>(),
		apart: new Map<string, number>(),
	};

	add({ date, folder, missing, accepted }: FolderFindings): void {
		const rows = [...missing, ...accepted].reduce(
			(sum, one) => sum + one.rows,
			0,
		);
		const of = folder === "quarantine" ? this.#rows.apart : this.#rows.rows;
		of.set(date, (of.get(date) ?? 0) + rows);
	}

	of(date: string): { rows: number; apart: number } {
		const { rows, apart } = this.#rows;
		return { rows: rows.get(date) ?? 0, apart: apart.get(date) ?? 0 };
	}
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

	/** @param absent What the ledger counts and the bucket hasn't got. */
	async publish(
		ledger: SourceLedger,
		absent: AbsentRows = new AbsentRows(),
	): Promise<string[]> {
		const { progress, added } = this.#options;
		this.#published.add(nameOf(ledger));
		await progress.setLedger(ledger);
		const dates = await added.publish(ledger, { anew: true });
		return linesOf(ledger, ledger, dates, absent);
	}

	/** Of the sources without a ledger: all their events were imported. */
	async *publishOthers(
		absentOf: (source: SourceName) => Promise<AbsentRows> = async () =>
			new AbsentRows(),
	): AsyncGenerator<string> {
		const { added, additions, tombstones } = this.#options;
		for await (const source of additions.sources()) {
			if (this.#published.has(nameOf(source)) || tombstones.has(source))
				continue;
			const dates = await added.publish(source, { anew: true });
			yield* linesOf(source, { archived: {} }, dates, await absentOf(source));
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
	absent: AbsentRows,
): string[] {
	const imported = Object.keys(added).filter((date) => added[date]?.imported);
	const counted = Object.keys({ ...archived, ...quarantined });
	const dates = [...new Set([...counted, ...imported])].sort();
	return dates.map((date) => {
		const { events = 0, imported = 0 } = added[date] ?? {};
		const apart = quarantined[date] ?? 0;
		// The records of releases stay longer than the ledger holds their dates.
		const freed = Math.min(events, apart);
		const gone = absent.of(date);
		const missing = gone.rows + gone.apart;
		return [
			account,
			sourceKey,
			date,
			(archived[date] ?? 0) + freed + imported - gone.rows,
			apart - freed - gone.apart,
			...(missing > 0 ? [`${missing} missing`] : []),
		].join("\t");
	});
}
