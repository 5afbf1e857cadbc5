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

export interface Loads {
	/** By shard number. */
	shards: ShardLoad[];
	/** How many events a new Source will presumably get: as many as half of the Sources exceed. */
	typical: number;
	/** By namespace. */
	newcomers: Map<string, Newcomers>;
}

/** New Sources of a namespace, of which nobody knows what they will send. */
interface Newcomers {
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
): Loads {
	const known = sources
		.flatMap(({ events }) => (events ? [events] : []))
		.sort((a, b) => a - b);
	const typical = known[known.length >> 1] ?? 1;
	const loads = Array.from({ length: shards }, (_, shard) => ({
		shard,
		sources: 0,
		events: 0,
	}));
	const found = { shards: loads, typical, newcomers: new Map() };
	for (const { shard, namespace, events } of sources) {
		const load = loads[shard];
		// The administrator has lowered the number of shards.
		if (!load) continue;
		if (events === undefined) addNewcomer(found, namespace, shard);
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
	loads: Loads,
	namespace: string,
	isFilling: (shard: number) => boolean,
): number {
	const { shards, typical, newcomers } = loads;
	const own = newcomers.get(namespace)?.own ?? [];
	const eventsOf = ({ shard, events }: ShardLoad) =>
		events + typical * (own[shard] ?? 0);
	const calm = shards.filter(({ shard }) => !isFilling(shard));
	const { shard } = (calm.length > 0 ? calm : shards).reduce((least, load) =>
		eventsOf(load) < eventsOf(least) ||
		(eventsOf(load) === eventsOf(least) && load.sources < least.sources)
			? load
			: least,
	);
	addNewcomer(loads, namespace, shard);
	return shard;
}

function addNewcomer(
	{ shards, typical, newcomers }: Loads,
	namespace: string,
	shard: number,
): void {
	const load = shards[shard]!;
	const theirs = newcomers.get(namespace) ?? { counted: 0, own: [] };
	newcomers.set(namespace, theirs);
	load.sources++;
	if (theirs.counted < mostCounted) {
		theirs.counted++;
		load.events += typical;
	} else theirs.own[shard] = (theirs.own[shard] ?? 0) + 1;
}
