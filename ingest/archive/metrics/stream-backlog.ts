import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { framesSubject } from "../../../contracts/nats.ts";

/** A reading of the metrics waits for NATS no longer than this. */
const timeoutMs = 1_000;

export interface ShardBacklog {
	shard: number;
	frames: number;
	bytes: number;
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
		const { messages, bytes } = (await streams.info(stream)).state;
		return [{ shard, frames: messages, bytes }];
	});
	return (await Promise.all(backlogs)).flat();
}
