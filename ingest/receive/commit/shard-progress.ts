import { jetstream } from "@nats-io/jetstream";
// @nats-io/kv: the NATS makers' own key-value client.
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket, framesSubject } from "../../../packages/contracts/nats.ts";
import type { ShardProgress } from "../../wire/idempotency-entry.ts";

/** Asks NATS how far a shard's stream and its archiving are. Throws when NATS doesn't answer. @param timeoutMs for each answer. */
export async function readShardProgress(
	connection: NatsConnection,
	shard: number,
	timeoutMs: number,
): Promise<ShardProgress> {
	const client = jetstream(connection, { timeout: timeoutMs });
	const { streams } = await client.jetstreamManager(false);
	const stream = await streams.find(framesSubject(shard));
	// Keep this order: the archived sequence must be no older than the stream's.
	const { ts, state } = await streams.info(stream);
	const done = await (await new Kvm(client).open(bucket.objectsDone)).get(
		stream,
	);
	return {
		nowMs: Date.parse(ts ?? ""),
		lastSequence: state.last_seq,
		firstStoredAtMs: state.messages > 0 ? Date.parse(state.first_ts) : NaN,
		objectsDone: done?.operation === "PUT" ? Number(done.string()) : 0,
	};
}
