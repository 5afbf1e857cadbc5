import { setTimeout as sleep } from "node:timers/promises";
import { JetStreamApiCodes, JetStreamApiError } from "@nats-io/jetstream";
// @nats-io/transport-node: the official client, successor of the `nats` package.
import {
	connect,
	type NatsConnection,
	type NodeConnectionOptions,
} from "@nats-io/transport-node";
import type { Logger } from "../log.ts";
import type { Settings } from "../settings.ts";
import { readNatsAddress } from "./address.ts";

/**
 * Connects to `NATS_URL`. Waits for a server that isn't up yet, and reconnects for as long as the process lives. When the signal
 * ends the wait, its reason is thrown. Throws SettingError.
 */
export async function connectNats(
	settings: Settings,
	role: string,
	log: Logger,
	signal?: AbortSignal,
): Promise<NatsConnection> {
	const options: NodeConnectionOptions = {
		...readNatsAddress(settings),
		name: `tidemill-${role}`,
		// The role's own inbox, which no other user may listen to.
		inboxPrefix: `_INBOX_${role}`,
		maxReconnectAttempts: -1,
		reconnectTimeWait: 250,
		reconnectJitter: 250,
		pingInterval: 10_000,
		// Stack traces per request cost more than the request.
		noAsyncTraces: true,
	};
	const connection = await firstConnection(options, log, signal);
	void logStatus(connection, log);
	return connection;
}

/** The client's own `waitOnFirstConnect` logs nothing and can't be cancelled. */
async function firstConnection(
	options: NodeConnectionOptions,
	log: Logger,
	signal: AbortSignal | undefined,
): Promise<NatsConnection> {
	let said: string | undefined;
	for (;;) {
		signal?.throwIfAborted();
		try {
			return await connect(options);
		} catch (error) {
			const { message } = error as Error;
			if (message !== said)
				log.warn({ servers: options.servers }, `waiting for NATS: ${message}`);
			said = message;
			await sleep(250 + Math.random() * 250, undefined, { signal });
		}
	}
}

async function logStatus(
	connection: NatsConnection,
	log: Logger,
): Promise<void> {
	for await (const status of connection.status()) {
		if (status.type === "disconnect") log.warn("lost the connection to NATS");
		if (status.type === "reconnect") log.info("connected to NATS again");
		if (status.type === "error")
			log.warn({ err: status.error }, "NATS reported an error");
	}
}

/** Acts after each reconnect, when watched entries may have changed. Ends with the connection. */
export async function onReconnect(
	nats: NatsConnection,
	act: () => void,
): Promise<void> {
	for await (const { type } of nats.status()) if (type === "reconnect") act();
}

/**
 * How many messages a stream has under a subject, which may have wildcards. The stream must allow direct gets (ADR-31: each
 * message of a batch says how many follow). Throws when NATS doesn't answer.
 */
export async function countMessages(
	connection: NatsConnection,
	stream: string,
	subject: string,
	timeoutMs: number,
): Promise<number> {
	const first = await connection.request(
		`$JS.API.DIRECT.GET.${stream}`,
		JSON.stringify({ seq: 1, batch: 1, next_by_subj: subject }),
		{ timeout: timeoutMs },
	);
	if (first.headers?.code === 404) return 0;
	const following = Number(first.headers?.get("Nats-Num-Pending") || NaN);
	if (Number.isNaN(following))
		throw new Error(`NATS can't count ${subject} in ${stream}`);
	return following + 1;
}

/** Whether a request failed because its stream, or its bucket, doesn't exist. */
export function isStreamNotFound(error: unknown): boolean {
	return (
		error instanceof JetStreamApiError &&
		error.code === JetStreamApiCodes.StreamNotFound
	);
}

/** Whether a compare-and-set, or a KV `create`, failed because somebody else wrote first. */
export function isConflict(error: unknown): error is JetStreamApiError {
	return (
		error instanceof JetStreamApiError &&
		(error.code === JetStreamApiCodes.StreamWrongLastSequence ||
			error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown)
	);
}
