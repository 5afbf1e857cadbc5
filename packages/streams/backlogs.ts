import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { framesSubject } from "../contracts/nats.ts";
import type { ShardReading } from "../service/backlog-metrics.ts";
import { frameRoom, readStoreState } from "./frame-room.ts";

/** A reading of the metrics waits for NATS no longer than this. */
const timeoutMs = 1_000;

/** What NATS says of each shard's stream. A shard that doesn't answer hides no other. */
export async function readBacklogs(
	connection: NatsConnection,
	shards: readonly number[],
): Promise<ShardReading[]> {
	const { streams } = await jetstreamManager(connection, {
		checkAPI: false,
		timeout: timeoutMs,
	});
	// Without an answer, the streams' own limits count.
	const asked = readStoreState(connection, timeoutMs).catch(() => undefined);
	const read = async (shard: number): Promise<ShardReading> => {
		const [stream] = await streams.names(framesSubject(shard)).next();
		if (stream === undefined) return { shard };
		const info = await streams.info(stream);
		const { messages, bytes, first_ts } = info.state;
		const ageMs =
			messages > 0 ? Date.parse(info.ts!) - Date.parse(first_ts) : 0;
		const lagSeconds = Math.max(0, ageMs / 1000);
		const room = frameRoom(info, await asked).bytes;
		const limitBytes =
			room === Infinity ? undefined : bytes + Math.max(0, room);
		return {
			shard,
			backlog: { frames: messages, bytes, limitBytes, lagSeconds },
		};
	};
	return Promise.all(
		shards.map((shard) => read(shard).catch((error) => ({ shard, error }))),
	);
}
