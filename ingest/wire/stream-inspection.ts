import {
	DiscardPolicy,
	JetStreamApiError,
	jetstreamManager,
	PersistMode,
	RetentionPolicy,
	StorageType,
	type StreamConfig,
	type StreamInfo,
} from "@nats-io/jetstream";
import type { NatsConnection, ServerInfo } from "@nats-io/transport-node";
import {
	duplicateWindowMs,
	framesSubject,
	maxFrameBytes,
	serverStateSubject,
} from "../../packages/contracts/nats.ts";
import {
	type FrameRoom,
	frameRoom,
	readStoreState,
	type ServerState,
} from "../../packages/streams/frame-room.ts";

/** This machine's clock beside the server's, and beside a clock that can't jump. All are in milliseconds. */
export interface ClockComparison {
	/** This machine's clock minus the server's. */
	aheadMs: number;
	/** What this machine's clock showed then, since the epoch. */
	dateMs: number;
	/** What `performance.now()` showed then. */
	steadyMs: number;
}

/** The stream that takes a shard's frames, and whether it could lose an acknowledged event. */
export interface ShardStream {
	name: string;
	/** Each way to lose an acknowledged event, with what to change; empty for a safe stream. */
	faults: string[];
	/** Ids of the servers that were inspected. A server has another one after each start. */
	servers: readonly string[];
	clock: ClockComparison;
	room: FrameRoom;
	info: StreamInfo;
}

/**
 * Finds the stream that takes the shard's subject and inspects it and its servers.
 * Returns undefined if there is no such stream. Throws the connection's error when NATS doesn't answer.
 */
export async function inspectShardStream(
	connection: NatsConnection,
	shard: number,
): Promise<ShardStream | undefined> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	const subject = framesSubject(shard);
	const [name] = await streams.names(subject).next();
	if (name === undefined) return undefined;
	const dateMs = Date.now();
	const steadyMs = performance.now();
	let info: StreamInfo;
	try {
		info = await streams.info(name);
	} catch (error) {
		// The stream was deleted between the two requests.
		if (error instanceof JetStreamApiError && error.status === 404)
			return undefined;
		throw error;
	}
	const middleMs = dateMs + (performance.now() - steadyMs) / 2;
	const aheadMs = middleMs - Date.parse(info.ts ?? "");
	const store = await readStoreState(connection);
	return {
		name,
		faults: [
			...streamFaults(info.config),
			...serverFaults(connection.info, store.servers),
		],
		servers: store.servers.flatMap(({ server }) => server.id ?? []),
		clock: { aheadMs, dateMs, steadyMs },
		room: frameRoom(info, store),
		info,
	};
}

/** Settings of a stream that could lose or refuse frames. */
export function streamFaults(config: StreamConfig): string[] {
	const checks: [fault: boolean, text: string][] = [
		[config.storage !== StorageType.File, "storage must be file"],
		[
			config.retention !== RetentionPolicy.Limits,
			"retention must be limits: other policies delete what a consumer has seen",
		],
		[
			config.discard !== DiscardPolicy.New,
			"discard must be new: a full stream must refuse frames, not delete old ones",
		],
		[config.max_age > 0, "max_age must be 0"],
		[config.max_msgs > 0, "max_msgs must be -1"],
		[config.max_msgs_per_subject > 0, "max_msgs_per_subject must be -1"],
		[
			config.max_msg_size > 0 && config.max_msg_size < maxFrameBytes,
			`max_msg_size must be -1 or at least ${maxFrameBytes}`,
		],
		[
			config.duplicate_window < duplicateWindowMs * 1e6,
			`duplicate_window must be at least ${duplicateWindowMs / 60_000} minutes`,
		],
		[
			config.persist_mode === PersistMode.Async,
			"persist_mode must not be async: it acknowledges a frame before it writes it",
		],
		[config.no_ack === true, "no_ack must be false"],
		[config.sealed === true, "sealed must be false"],
		[
			config.deny_purge === true,
			"deny_purge must be false: archive purges the stream",
		],
		[
			config.subject_transform !== undefined,
			"subject_transform must not be set",
		],
	];
	return checks
		.filter(([fault]) => fault)
		.map(([, text]) => `stream ${config.name}: ${text}`);
}

/** Settings of the servers that could lose an acknowledged frame or refuse a full one. */
export function serverFaults(
	server: Pick<ServerInfo, "version" | "max_payload"> | undefined,
	states: readonly ServerState[],
): string[] {
	const faults: string[] = [];
	const [major = 0, minor = 0] = (server?.version ?? "").split(".").map(Number);
	if (major < 2 || (major === 2 && minor < 15))
		faults.push(`NATS ${server?.version}: upgrade to 2.15 or later`);
	if ((server?.max_payload ?? 0) < maxFrameBytes)
		faults.push(
			`NATS: max_payload is ${server?.max_payload}; it must be at least ${maxFrameBytes}`,
		);
	if (states.length === 0)
		faults.push(
			`NATS: no server reports its sync_interval. Export ${serverStateSubject} from the system account (response_type: stream) to this account`,
		);
	// sync_always is absent when false. Servers without JetStream have no config.
	for (const { server, data } of states)
		if (data.config && data.config.sync_always !== true)
			faults.push(
				`NATS server ${server.name}: set jetstream.sync_interval to always; otherwise an acknowledged event can be lost in a power failure`,
			);
	return faults;
}
