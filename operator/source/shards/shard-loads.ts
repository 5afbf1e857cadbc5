import type { Source } from "../../../crds/generated/types.ts";
import { addDays, utcDate } from "../../../packages/contracts/utc-date.ts";
import {
	keyOf,
	type ObjectKey,
	textOf,
} from "../../../packages/kube/resource.ts";
import type { LedgerView } from "../../archive/ledger.ts";
import type { Informers } from "../../reconcile/informers.ts";
import { type Loads, loadsOf, type PlacedSource, place } from "./placement.ts";
import type { ShardBacklogs } from "./shard-backlogs.ts";

/** To add up the ledgers of thousands of Sources anew for each that is created would take minutes. */
const countedForMs = 10_000;
/** A Source that has no events by then presumably gets none. */
const newForMs = 2 * 24 * 60 * 60_000;

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
	readonly #placed = new Map<string, Placed>();
	#counted: Loads | undefined;
	#countedAtMs = 0;

	constructor(options: ShardLoadsOptions) {
		this.#options = options;
	}

	/** The shard of a Source that has none. The caller writes it down in the Source's Secret. */
	place({ metadata }: Pick<Source, "metadata">): number {
		const key = keyOf({ metadata });
		const known = this.#placed.get(textOf(key));
		if (known && known.uid === metadata.uid) return known.shard;
		const { now, backlogs } = this.#options;
		if (!this.#counted || Math.abs(now() - this.#countedAtMs) > countedForMs) {
			this.#counted = this.count();
			this.#countedAtMs = now();
		}
		const shard = place(this.#counted, key.namespace, (each) =>
			backlogs.isFilling(each),
		);
		this.#placed.set(textOf(key), { key, uid: metadata.uid, shard });
		return shard;
	}

	count(): Loads {
		const { shards, sources, ledgers, now } = this.#options;
		const today = utcDate(now());
		const dates = [today, addDays(today, -1)];
		const eventsOf = ({ metadata, status }: Source) => {
			const ledger = ledgers.get(status?.sourceKey ?? "");
			if (!ledger) {
				const ageMs = now() - Date.parse(metadata.creationTimestamp ?? "");
				return ageMs > newForMs ? 0 : undefined;
			}
			return dates.reduce(
				(sum, date) =>
					sum +
					(ledger.archived[date] ?? 0) +
					(ledger.quarantined?.[date] ?? 0),
				0,
			);
		};
		const placed: PlacedSource[] = [];
		const add = (source: Source, shard: number) =>
			placed.push({
				shard,
				namespace: source.metadata.namespace!,
				events: eventsOf(source),
			});
		for (const source of sources.list())
			if (source.status?.shard !== undefined) add(source, source.status.shard);
		for (const [text, { key, uid, shard }] of this.#placed) {
			const source = sources.get(key.namespace, key.name);
			if (
				!source ||
				source.metadata.uid !== uid ||
				source.status?.shard !== undefined
			)
				this.#placed.delete(text);
			else add(source, shard);
		}
		return loadsOf(shards, placed);
	}
}

interface Placed {
	key: ObjectKey;
	/** A Source that was deleted and created again is another one. */
	uid: string | undefined;
	shard: number;
}
