/** A Source that has a shard. */
export interface PlacedSource {
	shard: number;
	/** Of today and yesterday; undefined if it never had any. */
	events: number | undefined;
}

/** What a shard carries. */
export interface ShardLoad {
	shard: number;
	sources: number;
	/** Of today and yesterday, with what its new Sources will presumably get. */
	events: number;
}

export interface Loads {
	/** By shard number. */
	shards: ShardLoad[];
	/** How many events a new Source will presumably get: as many as half of the Sources exceed. */
	typical: number;
}

/** Nobody knows what a Source will send that has no events yet, so each counts as a typical one. */
export function loadsOf(
	shards: number,
	sources: readonly PlacedSource[],
): Loads {
	const known = sources
		.flatMap(({ events }) => (events ? [events] : []))
		.sort((a, b) => a - b);
	const typical = known[known.length >> 1] ?? 0;
	const loads = Array.from({ length: shards }, (_, shard) => ({
		shard,
		sources: 0,
		events: 0,
	}));
	for (const { shard, events = typical } of sources) {
		const load = loads[shard];
		// The administrator has lowered the number of shards.
		if (!load) continue;
		load.sources++;
		load.events += events;
	}
	return { shards: loads, typical };
}

/**
 * The shard for a new Source, and the loads with it: the one with the fewest events, of those whose buffer doesn't fill if
 * there is one. Equals are told apart by their Sources, then by their numbers.
 */
export function place(
	{ shards, typical }: Loads,
	isFilling: (shard: number) => boolean,
): { shard: number; loads: Loads } {
	const calm = shards.filter(({ shard }) => !isFilling(shard));
	const { shard } = (calm.length > 0 ? calm : shards).reduce((least, load) =>
		load.events < least.events ||
		(load.events === least.events && load.sources < least.sources)
			? load
			: least,
	);
	const grown = shards.map((load) =>
		load.shard === shard
			? { shard, sources: load.sources + 1, events: load.events + typical }
			: load,
	);
	return { shard, loads: { shards: grown, typical } };
}
