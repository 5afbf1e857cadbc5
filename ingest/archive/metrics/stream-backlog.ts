import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { framesSubject } from "../../../contracts/nats.ts";

/** Whoever reads the metrics waits for the answers. */
const timeoutMs = 1_000;

/** What a shard's stream holds: frames that aren't archived yet. */
export interface ShardBacklog {
	shard: number;
	frames: number;
	bytes: number;
}

/** Those of the shards that have a stream, as NATS has them now. Throws what it says. */
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
