import { jetstreamManager, type StoredMsg } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { maxKeptOfSource } from "../../contracts/live/refused-request.ts";
import { refused } from "../../contracts/nats.ts";
import type { Caller } from "../http/operation.ts";

const timeoutMs = 5_000;

/**
 * Reads from the stream of refused requests, by the account and the key of one Source alone. It uses a callback because the
 * client's iterator leaves its subscription behind, and waits without end if the connection breaks in the middle.
 */
export function readRefusedFrom(
	connection: () => NatsConnection,
): Caller["readRefused"] {
	return async (account, sourceKey, after = 0) => {
		const { direct } = await jetstreamManager(connection(), {
			checkAPI: false,
		});
		const { promise, resolve, reject } = Promise.withResolvers<StoredMsg[]>();
		const messages: StoredMsg[] = [];
		const reading = await direct.getBatch(refused.stream, {
			seq: after + 1,
			batch: maxKeptOfSource,
			next_by_subj: refused.subject(account, sourceKey),
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
		await promise.finally(() => clearTimeout(timer));
		return messages.map((message) => ({
			sequence: message.seq,
			request: message.json(),
		}));
	};
}

/** ADR-31: status 404 if no message matches. The client takes it for an error. */
function isNothing(error: Error): boolean {
	return "code" in error && error.code === 404;
}
