import { type Route, unitedShards } from "../packages/contracts/route.ts";
import {
	type FoundKeys,
	keysSecretName,
	type SourceKeys,
} from "./source/routes/keys.ts";

/** What a move rests on. */
export interface MoveFacts {
	namespace: string;
	source: string;
	/** As the administrator wrote it. */
	shard: string;
	/** How many shards there are. */
	shards: number;
	/** From the Source's Secret. */
	keys: FoundKeys;
	/** The account that has the Secret's source key in NATS. */
	keyOwner: string | undefined;
	/** The receivers' route for that source key. */
	published: Route | undefined;
	/** The Source's shards in NATS; none if it has never moved. */
	known: readonly number[];
}

export interface MovePlan {
	keys: SourceKeys;
	/** Where new events go. */
	shard: number;
	/** All that may hold the Source's events from now on. Each one's archive has to answer before the first write. */
	shards: number[];
}

/** Why a move is refused, for the administrator. */
export class MoveRefusal extends Error {}

/** What a move writes. What it has written already changes nothing. Throws {@link MoveRefusal}. */
export function decideMove(facts: MoveFacts): MovePlan {
	const { namespace, source, keys, published, known } = facts;
	const shard = shardIn(facts);
	const secret = `Secret "${keysSecretName(source)}" of namespace "${namespace}"`;
	if (keys === "absent")
		throw new MoveRefusal(
			`--source is "${source}", and there is no ${secret}. Name a Source that has a URL: kubectl get sources --namespace ${namespace}`,
		);
	if (keys === "invalid")
		throw new MoveRefusal(
			`--source is "${source}", and ${secret} was not issued for it, or its keys are damaged. Restore the Secret from a backup first.`,
		);
	const isOurs =
		facts.keyOwner === namespace &&
		published?.account === namespace &&
		published.source === source;
	if (!isOurs)
		throw new MoveRefusal(
			`--source is "${source}", and receivers have no route of it. It must be Active or Suspended first: kubectl describe source ${source} --namespace ${namespace}`,
		);
	// Not those of the Secret, which people of the namespace may write: what is in the set once stays.
	return { keys, shard, shards: unitedShards(known, [published.shard, shard]) };
}

function shardIn({ shard, shards }: MoveFacts): number {
	if (/^\d{1,5}$/.test(shard) && Number(shard) < shards) return Number(shard);
	throw new MoveRefusal(
		`--shard is "${shard}". It must be a number from 0 to ${shards - 1}: the chart value "shards" is ${shards}.`,
	);
}
