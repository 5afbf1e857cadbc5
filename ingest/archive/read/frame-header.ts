import { DeliverPolicy, jetstream } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import type { FrameMark } from "../decide/cut.ts";

/** From here on a consumer for one message takes less than the message, which comes as base64 in JSON. */
const largeFrameBytes = 256 * 1024;
const expiresMs = 1_000;

/**
 * The ID and time of the frame at this sequence, by its message's headers alone. Undefined for a small frame, and if the
 * headers don't tell: then the message itself does.
 */
export async function readFrameHeader(
	connection: NatsConnection,
	stream: string,
	sequence: number,
	bytes: number,
): Promise<FrameMark | undefined> {
	if (bytes < largeFrameBytes) return undefined;
	const consumer = await jetstream(connection).consumers.get(stream, {
		deliver_policy: DeliverPolicy.StartSequence,
		opt_start_seq: sequence,
		headers_only: true,
	});
	try {
		const message = await consumer.next({ expires: expiresMs });
		const id = message?.headers?.get("Nats-Msg-Id");
		if (!id || message?.info.streamSequence !== sequence) return undefined;
		const timeMs = Math.floor(message.info.timestampNanos / 1e6);
		return { id, time: new Date(timeMs).toISOString() };
	} finally {
		await consumer.delete().catch(() => undefined);
	}
}
