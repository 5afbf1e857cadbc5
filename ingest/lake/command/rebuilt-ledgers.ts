import type {
	ReleasedLedger,
	SourceLedger,
} from "../../../packages/contracts/ledger.ts";
import type { SourceName } from "../../archive/s3/object-keys.ts";
import type { NatsProgress } from "../../archive/write/nats-progress.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import type { ReleaseStore } from "../release/release-store.ts";
import type { ReleasedLedgers } from "../release/released-ledgers.ts";

export interface RebuiltLedgersOptions {
	progress: Pick<NatsProgress, "setLedger">;
	released: Pick<ReleasedLedgers, "publish">;
	releases: Pick<ReleaseStore, "sources">;
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
		const { progress, released } = this.#options;
		this.#published.add(nameOf(ledger));
		await progress.setLedger(ledger);
		const added = await released.publish(ledger, { anew: true });
		return linesOf(ledger, ledger, added);
	}

	/** Of the sources without a ledger here: all their events were imported, or the others are in another archive's shards. */
	async *publishOthers(): AsyncGenerator<string> {
		const { released, releases, tombstones } = this.#options;
		for await (const source of releases.sources()) {
			if (this.#published.has(nameOf(source)) || tombstones.has(source))
				continue;
			const added = await released.publish(source, { anew: true });
			yield* linesOf(source, { archived: {} }, added);
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
	released: ReleasedLedger["released"],
): string[] {
	const imported = Object.keys(released).filter(
		(date) => released[date]?.imported,
	);
	const counted = Object.keys({ ...archived, ...quarantined });
	const dates = [...new Set([...counted, ...imported])].sort();
	return dates.map((date) => {
		const { events = 0, imported = 0 } = released[date] ?? {};
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
