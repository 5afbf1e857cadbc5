import {
	type DirectBatchOptions,
	jetstreamManager,
	type StoredMsg,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";

const timeoutMs = 5_000;

/**
 * Reads some of a stream's messages, which the server gives without a consumer (ADR-31); none if it has no such ones. It uses
 * a callback because the client's iterator leaves its subscription behind, and waits without end if the connection breaks in
 * the middle.
 */
export async function readStoredBatch(
	connection: NatsConnection,
	stream: string,
	wanted: DirectBatchOptions,
): Promise<StoredMsg[]> {
	const { direct } = await jetstreamManager(connection, { checkAPI: false });
	const { promise, resolve, reject } = Promise.withResolvers<StoredMsg[]>();
	const messages: StoredMsg[] = [];
	const reading = await direct.getBatch(stream, {
		...wanted,
		callback: (done, message) => {
			if (!done) messages.push(message);
			else if (done.err && !isNothing(done.err)) reject(done.err);
			else resolve(messages);
		},
	});
	const timer = setTimeout(
		() => reading.stop(new Error("NATS did not answer in time")),
		timeoutMs,
	);
	return promise.finally(() => clearTimeout(timer));
}

/** ADR-31: status 404 if no message matches. The client takes it for an error. */
function isNothing(error: Error): boolean {
	return "code" in error && error.code === 404;
}
