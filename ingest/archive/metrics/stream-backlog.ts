import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { framesSubject } from "../../../contracts/nats.ts";

/** A reading of the metrics waits for NATS no longer than this. */
const timeoutMs = 1_000;

export interface ShardBacklog {
	shard: number;
	frames: number;
	bytes: number;
	/** Age of the oldest frame by NATS's clock; 0 if there is none. */
	lagSeconds: number;
}

/** The current backlogs of the shards that have a stream. Throws NATS's errors. */
export async function readBacklogs(
	connection: NatsConnection,
	shards: readonly number[],
): Promise<ShardBacklog[]> {
	const { streams } = await jetstreamManager(connection, {
		checkAPI: false,
		timeout: timeoutMs,
	});
	const backlogs = shards.map(async (shard): Promise<ShardBacklog[]> => {
		const [stream] = await streams.names(framesSubject(shard)).next();
		if (stream === undefined) return [];
		const { ts, state } = await streams.info(stream);
		const { messages, bytes, first_ts } = state;
		const ageMs = messages > 0 ? Date.parse(ts!) - Date.parse(first_ts) : 0;
		const lagSeconds = Math.max(0, ageMs / 1000);
		return [{ shard, frames: messages, bytes, lagSeconds }];
	});
	return (await Promise.all(backlogs)).flat();
}
