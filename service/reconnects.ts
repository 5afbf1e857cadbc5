import type { NatsConnection } from "@nats-io/transport-node";

/** Acts after each time that NATS was away and is back, when what it holds may have changed. Ends with the connection. */
export async function onReconnect(
	nats: NatsConnection,
	act: () => void,
): Promise<void> {
	for await (const { type } of nats.status()) if (type === "reconnect") act();
}
