import { addDays, utcDate } from "../../../contracts/utc-date.ts";
import { type ObjectKey, textOf } from "../../../kube/resource.ts";
import type { LedgerView } from "../../archive/ledger.ts";
import type { Informers } from "../../reconcile/informers.ts";
import { type Loads, loadsOf, type PlacedSource, place } from "./placement.ts";
import type { ShardBacklogs } from "./shard-backlogs.ts";

/** To add up the ledgers of thousands of Sources anew for each that is created would take minutes. */
const countedForMs = 10_000;

export interface ShardLoadsOptions {
	/** How many there are. */
	shards: number;
	sources: Pick<Informers["sources"], "get" | "list">;
	ledgers: Pick<LedgerView, "get">;
	backlogs: Pick<ShardBacklogs, "isFilling">;
	now(): number;
}

/** What each shard carries, as the Sources' status and archive's ledgers say. */
export class ShardLoads {
	readonly #options: ShardLoadsOptions;
	/** Sources that were placed and whose status doesn't say so yet. Their Secrets do, for good. */
	readonly #placed = new Map<string, { key: ObjectKey; shard: number }>();
	#counted: Loads | undefined;
	#countedAtMs = 0;

	constructor(options: ShardLoadsOptions) {
		this.#options = options;
	}

	/** The shard of a Source that has none. The caller writes it down in the Source's Secret. */
	place(key: ObjectKey): number {
		const known = this.#placed.get(textOf(key));
		if (known) return known.shard;
		const { now, backlogs } = this.#options;
		if (!this.#counted || Math.abs(now() - this.#countedAtMs) > countedForMs) {
			this.#counted = this.count();
			this.#countedAtMs = now();
		}
		const { shard, loads } = place(this.#counted, (each) =>
			backlogs.isFilling(each),
		);
		this.#counted = loads;
		this.#placed.set(textOf(key), { key, shard });
		return shard;
	}

	count(): Loads {
		const { shards, sources, ledgers, now } = this.#options;
		const today = utcDate(now());
		const dates = [today, addDays(today, -1)];
		const eventsOf = (sourceKey = "") => {
			const ledger = ledgers.get(sourceKey);
			return (
				ledger &&
				dates.reduce(
					(sum, date) =>
						sum +
						(ledger.archived[date] ?? 0) +
						(ledger.quarantined?.[date] ?? 0),
					0,
				)
			);
		};
		const placed: PlacedSource[] = [];
		for (const { status } of sources.list())
			if (status?.shard !== undefined)
				placed.push({
					shard: status.shard,
					events: eventsOf(status.sourceKey),
				});
		for (const [text, { key, shard }] of this.#placed) {
			const source = sources.get(key.namespace, key.name);
			if (!source || source.status?.shard !== undefined)
				this.#placed.delete(text);
			else placed.push({ shard, events: undefined });
		}
		return loadsOf(shards, placed);
	}
}
