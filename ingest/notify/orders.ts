// @nats-io/jetstream: the NATS makers' own client.
import {
	AckPolicy,
	type Consumer,
	type JsMsg,
	jetstream,
	jetstreamManager,
} from "@nats-io/jetstream";
import { type NatsConnection, nanos } from "@nats-io/transport-node";
import { notifications } from "../../packages/contracts/nats.ts";

/** An order that no process works on for so long is given to another one. */
export const ackWaitMs = 20_000;

/**
 * The orders that wait in NATS. All processes share one consumer, so each order is with one of them at a time. How often an
 * order is tried is for us to decide, and the stream bounds how many there are.
 */
export async function openOrders(nats: NatsConnection): Promise<Consumer> {
	const { stream, consumer } = notifications;
	const { consumers } = await jetstreamManager(nats, { checkAPI: false });
	await consumers.add(stream, {
		durable_name: consumer,
		ack_policy: AckPolicy.Explicit,
		ack_wait: nanos(ackWaitMs),
		max_deliver: -1,
		max_ack_pending: -1,
	});
	return jetstream(nats, { checkAPI: false }).consumers.get(stream, consumer);
}

/** Gives each order that arrives to `take`, at most `max` of them, and returns when there were none for a while. */
export async function takeOrders(
	consumer: Consumer,
	max: number,
	take: (message: JsMsg) => void,
	signal: AbortSignal,
): Promise<void> {
	const messages = await consumer.fetch({ max_messages: max, expires: 5_000 });
	const stop = () => messages.stop();
	signal.addEventListener("abort", stop);
	try {
		for await (const message of messages) take(message);
	} finally {
		signal.removeEventListener("abort", stop);
	}
}
