import { setTimeout as sleep } from "node:timers/promises";
import { JetStreamApiCodes, JetStreamApiError } from "@nats-io/jetstream";
// @nats-io/transport-node: the official client, successor of the `nats` package.
import {
	AuthorizationError,
	connect,
	type NatsConnection,
	type NodeConnectionOptions,
	NoRespondersError,
	PermissionViolationError,
} from "@nats-io/transport-node";
import type { Logger } from "../log.ts";
import { backoffMs } from "../pause.ts";
import { whenFilesWork } from "../secret-files.ts";
import type { Settings } from "../settings.ts";
import { readNatsAddress } from "./address.ts";
import { natsSignIn } from "./sign-in.ts";

/** What keeps a process from NATS, for its `/readyz`. */
export class NatsState {
	/** In words, with what to do; undefined while it is connected. */
	reason: string | undefined = "NATS hasn't been reached yet";
	/** NATS answers, but doesn't take the process's user: nothing gets better until somebody acts. */
	isRefused = false;
}

const reconnectMs = 250;
/** After refusals: each of them is a line in NATS's log. */
const refusedBackoff = { baseMs: reconnectMs, maxMs: 5_000 };

/**
 * Connects to `NATS_URL`. Waits for a server that isn't up yet and for a user that is refused, and reconnects for as long as the
 * process lives. When the signal ends the wait, its reason is thrown. Throws SettingError.
 */
export async function connectNats(
	settings: Settings,
	role: string,
	log: Logger,
	signal?: AbortSignal,
	state = new NatsState(),
): Promise<NatsConnection> {
	const { servers, tls, signIn } = await whenFilesWork(
		() => {
			const { user, pass = "", ...address } = readNatsAddress(settings, log);
			const ofUrl = user === undefined ? undefined : { user, pass };
			return { ...address, signIn: natsSignIn(settings, ofUrl, log) };
		},
		(fault) => {
			state.reason = fault;
		},
		log,
		signal,
	);
	let refusals = 0;
	const link: Link = {
		state,
		log,
		refused: (error) => {
			refusals++;
			const refused = signIn.user?.user;
			state.isRefused = true;
			state.reason = `NATS refuses ${refused ? `the user ${refused}` : "a connection without a user"}: ${error.message}. ${signIn.refused()}`;
		},
		connected: () => {
			refusals = 0;
			signIn.taken();
			state.isRefused = false;
			state.reason = undefined;
		},
		// The second user is tried soon after the first.
		waitMs: () =>
			refusals > 2
				? backoffMs(refusals - 2, refusedBackoff)
				: reconnectMs * (1 + Math.random()),
	};
	const options: NodeConnectionOptions = {
		servers,
		...(tls && { tls }),
		authenticator: () => signIn.user,
		// Its user may be put right at any time.
		ignoreAuthErrorAbort: true,
		name: `tidemill-${role}`,
		// The role's own inbox, which no other user may listen to.
		inboxPrefix: `_INBOX_${role}`,
		maxReconnectAttempts: -1,
		reconnectDelayHandler: link.waitMs,
		pingInterval: 10_000,
		// Stack traces per request cost more than the request.
		noAsyncTraces: true,
	};
	const connection = await firstConnection(options, link, signal);
	link.connected();
	void followStatus(connection, link);
	void connection.closed().then(() => signIn.close());
	return connection;
}

interface Link {
	state: NatsState;
	log: Logger;
	refused(error: Error): void;
	connected(): void;
	waitMs(): number;
}

/** The client's own `waitOnFirstConnect` logs nothing and can't be cancelled. */
async function firstConnection(
	options: NodeConnectionOptions,
	link: Link,
	signal: AbortSignal | undefined,
): Promise<NatsConnection> {
	let said: string | undefined;
	for (;;) {
		signal?.throwIfAborted();
		try {
			return await connect(options);
		} catch (error) {
			const { message } = error as Error;
			if (error instanceof AuthorizationError) link.refused(error);
			else link.state.reason = `NATS hasn't been reached yet: ${message}`;
			if (message !== said)
				link.log.warn(
					{ servers: options.servers },
					`waiting for NATS: ${link.state.reason}`,
				);
			said = message;
			await sleep(link.waitMs(), undefined, { signal });
		}
	}
}

async function followStatus(
	connection: NatsConnection,
	link: Link,
): Promise<void> {
	const { log, state } = link;
	for await (const status of connection.status()) {
		if (status.type === "disconnect") {
			log.warn("lost the connection to NATS");
			state.reason ??= "the connection to NATS is lost";
		}
		if (status.type === "reconnect") {
			log.info("connected to NATS again");
			link.connected();
		}
		if (status.type === "error") {
			const isRefusal = status.error instanceof AuthorizationError;
			if (isRefusal) link.refused(status.error);
			log.warn(
				{ err: status.error },
				isRefusal ? state.reason : "NATS reported an error",
			);
		}
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

/** Whether NATS refused a request because of the user's permissions. */
export function isNotPermitted(error: unknown): boolean {
	return causes(error).some((one) => one instanceof PermissionViolationError);
}

/** The same, or the user's account imports no such subject, so that nobody hears the request. */
export function mayNotAsk(error: unknown): boolean {
	return isNotPermitted(error) || isUnheard(error);
}

/** Whether nobody listens where a request went. */
export function isUnheard(error: unknown): boolean {
	return causes(error).some((one) => one instanceof NoRespondersError);
}

/** The error itself, too: the client wraps it once or twice. */
function* causes(error: unknown): Generator<unknown, undefined> {
	for (let one = error; one instanceof Error; one = one.cause) yield one;
}

/** Whether a request failed because its stream, or its bucket, doesn't exist. */
export function isStreamNotFound(error: unknown): boolean {
	return (
		error instanceof JetStreamApiError &&
		error.code === JetStreamApiCodes.StreamNotFound
	);
}

/**
 * nats-server's errors for a write that has no room: 10002 JSAccountResourcesExceededErr, 10023 JSInsufficientResourcesErr (of the
 * server), 10028 JSMemoryResourcesExceededErr and 10047 JSStorageResourcesExceededErr (of a stream's settings). It reads and
 * purges all the same.
 */
const noRoomCodes = new Set([10002, 10023, 10028, 10047]);

/** Whether JetStream refused a write because its server or its account is full. */
export function isNoRoom(error: unknown): boolean {
	return error instanceof JetStreamApiError && noRoomCodes.has(error.code);
}

/** What to do about limits of nats-server: 10026 JSMaximumConsumersLimitErr, 10027 JSMaximumStreamsLimitErr, and those without room. */
const limitAdvice: Record<number, string> = {
	10002:
		"Raise the JetStream limits of the account that holds Tidemill's streams",
	10023: "Raise max_file_store of NATS's servers (nats.maxFileStoreBytes)",
	10026: "Raise max_consumers of the account that holds Tidemill's streams",
	10027:
		"Raise max_streams of the account that holds Tidemill's streams: it needs one for each shard and ten more",
	10028:
		"Raise max_memory_store of NATS's servers, or max_memory of the account that holds Tidemill's streams: counts and refused requests of the last hours take 96 MiB",
	10047:
		"Raise max_file_store of NATS's servers (nats.maxFileStoreBytes), or max_file of the account that holds Tidemill's streams",
};

/** What an error says, and what to do if it is a limit of JetStream that is reached. */
export function natsReason(error: unknown): string {
	const said = error instanceof Error ? error.message : String(error);
	const advice =
		error instanceof JetStreamApiError ? limitAdvice[error.code] : undefined;
	return advice ? `${said}. ${advice}.` : said;
}

/** Whether a compare-and-set, or a KV `create`, failed because somebody else wrote first. */
export function isConflict(error: unknown): error is JetStreamApiError {
	return (
		error instanceof JetStreamApiError &&
		(error.code === JetStreamApiCodes.StreamWrongLastSequence ||
			error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown)
	);
}
