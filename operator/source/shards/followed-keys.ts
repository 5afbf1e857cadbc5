import type { Source } from "../../../crds/generated/types.ts";
import type { Route } from "../../../packages/contracts/route.ts";
import { unitedShards } from "../../../packages/contracts/shards/source-shards.ts";
import { heldUnder, type SourceKeys } from "../webhook/keys.ts";

/** What is known of a Source's shards, whatever its Secret says. */
export interface KnownShards {
	/** The receivers' route; undefined for a Source that is new to NATS. */
	published: Route | undefined;
	/** The Source's shards in NATS. */
	known: readonly number[];
	/** How many shards there are. */
	shards: number;
}

/**
 * The keys that a Source's route is made of. The Secret names the shard, and whoever may write Secrets of the namespace could
 * write another one. So a Source goes to another shard than its route's, or its status's, only if the shards in NATS name it.
 * All that may hold events stay.
 */
export function followedKeys(
	source: Source,
	keys: SourceKeys,
	{ published, known, shards }: KnownShards,
): SourceKeys {
	const held = heldUnder(source, keys);
	const current = published?.shard ?? held.shard;
	const shard = known.includes(keys.shard) ? keys.shard : current;
	// Of those that people wrote, numbers that are no shard cost a request each whenever the events are read.
	const earlier =
		held === keys
			? published
				? []
				: keys.shards.filter((number) => number < shards)
			: held.shards;
	return {
		...keys,
		shard,
		shards: unitedShards([...known, ...earlier, current, shard]),
	};
}
