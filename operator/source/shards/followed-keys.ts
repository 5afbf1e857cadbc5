import type { Route } from "../../../contracts/route.ts";
import { unitedShards } from "../../../contracts/shards/source-shards.ts";
import type { SourceKeys } from "../webhook/keys.ts";

/**
 * The keys that a Source's route is made of. The Secret names the shard, and whoever may write Secrets of the namespace could
 * write another one. So a Source goes to another shard than its route's only if the shards in NATS name it. All that may hold events stay.
 * @param published The receivers' route; undefined for a Source that is new to NATS.
 * @param known The Source's shards in NATS.
 */
export function followedKeys(
	keys: SourceKeys,
	published: Route | undefined,
	known: readonly number[],
): SourceKeys {
	const current = published?.shard ?? keys.shard;
	const shard = known.includes(keys.shard) ? keys.shard : current;
	const shards = published
		? [...known, current, shard]
		: [...keys.shards, ...known];
	return { ...keys, shard, shards: unitedShards(shards) };
}
