import {
	type JetStreamAccountStats,
	JetStreamApiError,
	jetstreamManager,
	type StreamInfo,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { maxFrameBytes, serverStateSubject } from "../contracts/nats.ts";
import { mayNotAsk } from "../service/nats/connection.ts";

/** One server's answer on {@link serverStateSubject}, with the fields that matter here. */
export interface ServerState {
	server: { id?: string; name: string };
	/** Servers without JetStream have no config. */
	data: {
		/** Bytes of all streams in its files. */
		storage?: number;
		config?: { sync_always?: boolean; max_storage?: number };
	};
}

/** What JetStream says of its limits beyond the streams' own. */
export interface StoreState {
	servers: readonly ServerState[];
	/** Of the streams' account; undefined if NATS doesn't tell this one. */
	account: Pick<JetStreamAccountStats, "limits" | "storage"> | undefined;
}

/** Asks each server, and for the account. Throws the connection's error when NATS doesn't answer. */
export async function readStoreState(
	connection: NatsConnection,
	timeoutMs = 2_000,
): Promise<StoreState> {
	const [servers, account] = await Promise.all([
		serverStates(connection, timeoutMs),
		accountState(connection, timeoutMs),
	]);
	return { servers, account };
}

/** Returns none if this account may not ask. */
async function serverStates(
	connection: NatsConnection,
	maxWait: number,
): Promise<ServerState[]> {
	const states: ServerState[] = [];
	try {
		const answers = await connection.requestMany(serverStateSubject, "", {
			maxWait,
			strategy: "stall",
			stall: 200,
		});
		for await (const answer of answers) states.push(answer.json());
	} catch (error) {
		if (!mayNotAsk(error)) throw error;
	}
	return states;
}

async function accountState(connection: NatsConnection, timeout: number) {
	try {
		const options = { checkAPI: false, timeout };
		const manager = await jetstreamManager(connection, options);
		return await manager.getAccountInfo();
	} catch (error) {
		if (!mayNotAsk(error) && !(error instanceof JetStreamApiError)) throw error;
		return undefined;
	}
}

/** How many bytes of frames a stream still takes. */
export interface FrameRoom {
	/** Infinity without a limit; less than 0 when there are more than there should be. */
	bytes: number;
	/** The same by the limits of servers and account alone. */
	storeBytes: number;
	/** Why JetStream takes no frame now, though the stream might; undefined while it does. */
	full: string | undefined;
	/** Whether what is left besides the reserve is less than the reserve. */
	isScarce: boolean;
}

/** Two of the largest frames, for one that is on its way when the others stop. */
const leastReserveBytes = 2 * maxFrameBytes;

/**
 * What frames leave free of a store. A full JetStream refuses every write, so archive couldn't say what it has archived, and in a cluster
 * nobody could purge anything: a server that is full takes no part in its streams (nats-server 2.15.2, raft.go, `outOfResources`).
 */
export function reserveOf(limitBytes: number): number {
	return Math.min(limitBytes / 2, Math.max(leastReserveBytes, limitBytes / 20));
}

/** By the limits of the stream itself, of the servers that hold it, and of its account. */
export function frameRoom(
	{ config, state, cluster }: Pick<StreamInfo, "config" | "state" | "cluster">,
	{ servers, account }: StoreState = { servers: [], account: undefined },
): FrameRoom {
	const holders = cluster && [
		cluster.leader,
		...(cluster.replicas ?? []).map(({ name }) => name),
	];
	const stores: Store[] = servers
		.filter(({ server }) => !holders || holders.includes(server.name))
		.map(({ server, data }) => ({
			what: `server ${server.name} (max_file_store)`,
			limitBytes: data.config?.max_storage ?? 0,
			usedBytes: data.storage ?? 0,
			copies: 1,
		}));
	if (account)
		stores.push({
			what: "account of the streams (its JetStream limit)",
			limitBytes: account.limits.max_storage,
			usedBytes: account.storage,
			// The account's limit is of all servers together.
			copies: config.num_replicas,
		});
	const own = config.max_bytes > 0 ? config.max_bytes - state.bytes : Infinity;
	const limited = stores.filter(({ limitBytes }) => limitBytes > 0);
	const [narrowest] = limited.sort((a, b) => roomIn(a) - roomIn(b));
	if (!narrowest) return { ...unlimited, bytes: own };
	const room = roomIn(narrowest);
	return {
		bytes: Math.min(own, room),
		storeBytes: room,
		full: room > 0 ? undefined : fullText(narrowest),
		isScarce: room < reserveOf(narrowest.limitBytes) / narrowest.copies,
	};
}

/** Of JetStream without limits. */
const unlimited: FrameRoom = {
	bytes: Infinity,
	storeBytes: Infinity,
	full: undefined,
	isScarce: false,
};

interface Store {
	what: string;
	limitBytes: number;
	usedBytes: number;
	/** How many times it holds each byte of the stream. */
	copies: number;
}

function roomIn({ limitBytes, usedBytes, copies }: Store): number {
	return (limitBytes - usedBytes - reserveOf(limitBytes)) / copies;
}

function fullText({ what, limitBytes, usedBytes }: Store): string {
	const [used, limit, reserve] = [
		usedBytes,
		limitBytes,
		reserveOf(limitBytes),
	].map((bytes) => Math.round(bytes / 1024 ** 2));
	return `JetStream is full: the ${what} holds ${used} of ${limit} MiB, and ${reserve} MiB are kept for what archive writes to make room; senders get 503 until archive has made some`;
}
