import type { NatsConnection } from "@nats-io/transport-node";
import { maxKeptOfSource } from "../../packages/contracts/live/refused-request.ts";
import { refused } from "../../packages/contracts/nats.ts";
import { readStoredBatch } from "../../packages/service/nats/stored-batch.ts";
import type { Caller } from "../http/endpoint.ts";

/** Reads from the stream of refused requests, by the account and the key of one Source alone. */
export function readRefusedFrom(
	connection: () => NatsConnection,
): Caller["readRefused"] {
	return async (account, sourceKey, after = 0) => {
		const messages = await readStoredBatch(connection(), refused.stream, {
			seq: after + 1,
			batch: maxKeptOfSource,
			next_by_subj: refused.subject(account, sourceKey),
		});
		return messages.map((message) => ({
			sequence: message.seq,
			request: message.json(),
		}));
	};
}
