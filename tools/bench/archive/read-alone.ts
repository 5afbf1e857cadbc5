import { DeliverPolicy, jetstream } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { FrameBatches } from "../../../ingest/archive/read/frame-batches.ts";

/** This process's CPU to read so many frames as archive does, without a look at them, in microseconds. */
export async function readAloneUs(
	connection: NatsConnection,
	stream: string,
	frames: number,
): Promise<number> {
	const consumer = await jetstream(connection).consumers.get(stream, {
		deliver_policy: DeliverPolicy.StartSequence,
		opt_start_seq: 1,
	});
	const batches = new FrameBatches(consumer);
	const start = process.cpuUsage();
	let left = frames;
	while (left > 0) await batches.read(() => --left > 0);
	const { user, system } = process.cpuUsage(start);
	await batches.close();
	return user + system;
}
