import type { Source } from "../../crds/generated/types.ts";
import { addDays, utcDate } from "../../packages/contracts/utc-date.ts";
import { keyOf, type ObjectKey, textOf } from "../../packages/kube/resource.ts";
import type { Informers } from "../reconcile/informers.ts";
import type { LedgerView } from "../reconcile/ledgers.ts";
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
	#counted: ShardLoadTable | undefined;
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

	count(): ShardLoadTable {
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

/** A Source that has a shard. */
export interface PlacedSource {
	shard: number;
	namespace: string;
	/** Of today and yesterday; undefined if it is new and had none. */
	events: number | undefined;
}

/** What a shard carries. */
export interface ShardLoad {
	shard: number;
	sources: number;
	/** Of today and yesterday, with what its new Sources will presumably get. */
	events: number;
}

export interface ShardLoadTable {
	/** By shard number. */
	shards: ShardLoad[];
	/** How many events a new Source will presumably get: as many as half of the Sources exceed. */
	typical: number;
	/** By namespace. */
	newSources: Map<string, NewSources>;
}

/** New Sources of a namespace, of which nobody knows what they will send. */
interface NewSources {
	/** How many are in {@link ShardLoad.events}, each as a typical Source. */
	counted: number;
	/** By shard: the others, which only its own further Sources keep off. */
	own: number[];
}

/** More would let one namespace push everybody's new Sources off a shard with Sources that never send. */
const mostCounted = 4;

/** What the shards carry. */
export function loadsOf(
	shards: number,
	sources: readonly PlacedSource[],
): ShardLoadTable {
	const known = sources
		.flatMap(({ events }) => (events ? [events] : []))
		.sort((a, b) => a - b);
	const typical = known[known.length >> 1] ?? 1;
	const loads = Array.from({ length: shards }, (_, shard) => ({
		shard,
		sources: 0,
		events: 0,
	}));
	const found = { shards: loads, typical, newSources: new Map() };
	for (const { shard, namespace, events } of sources) {
		const load = loads[shard];
		// The administrator has lowered the number of shards.
		if (!load) continue;
		if (events === undefined) addNewSource(found, namespace, shard);
		else {
			load.sources++;
			load.events += events;
		}
	}
	return found;
}

/**
 * The shard for a new Source of the namespace, which counts from now on: the one with the fewest events, of those whose buffer
 * doesn't fill if there is one. Equals are told apart by their Sources, then by their numbers.
 */
export function place(
	loads: ShardLoadTable,
	namespace: string,
	isFilling: (shard: number) => boolean,
): number {
	const { shards, typical, newSources } = loads;
	const own = newSources.get(namespace)?.own ?? [];
	const eventsOf = ({ shard, events }: ShardLoad) =>
		events + typical * (own[shard] ?? 0);
	const calm = shards.filter(({ shard }) => !isFilling(shard));
	const { shard } = (calm.length > 0 ? calm : shards).reduce((least, load) =>
		eventsOf(load) < eventsOf(least) ||
		(eventsOf(load) === eventsOf(least) && load.sources < least.sources)
			? load
			: least,
	);
	addNewSource(loads, namespace, shard);
	return shard;
}

function addNewSource(
	{ shards, typical, newSources }: ShardLoadTable,
	namespace: string,
	shard: number,
): void {
	const load = shards[shard]!;
	const theirs = newSources.get(namespace) ?? { counted: 0, own: [] };
	newSources.set(namespace, theirs);
	load.sources++;
	if (theirs.counted < mostCounted) {
		theirs.counted++;
		load.events += typical;
	} else theirs.own[shard] = (theirs.own[shard] ?? 0) + 1;
}
