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
import {
	errors,
	type NatsConnection,
	type ServerInfo,
} from "@nats-io/transport-node";
import {
	duplicateWindowMs,
	framesSubject,
	maxFrameBytes,
	serverStateSubject,
} from "../../contracts/nats.ts";

/** The stream that takes a shard's frames, and whether an event that it acknowledged could be lost. */
export interface ShardStream {
	name: string;
	/** Why an acknowledged event could be lost, each with what to change; empty when it can't (design §4). */
	faults: string[];
	/** This machine's clock minus the server's, milliseconds. */
	clockAheadMs: number;
	info: StreamInfo;
}

/**
 * Finds the stream that takes the shard's subject and judges it and its servers.
 * Returns undefined while there is none. Throws what the connection throws when NATS doesn't answer.
 */
export async function inspectShardStream(
	connection: NatsConnection,
	shard: number,
): Promise<ShardStream | undefined> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	const subject = framesSubject(shard);
	const [name] = await streams.names(subject).next();
	if (name === undefined) return undefined;
	const askedAtMs = Date.now();
	let info: StreamInfo;
	try {
		info = await streams.info(name);
	} catch (error) {
		// Deleted between the two questions.
		if (error instanceof JetStreamApiError && error.status === 404)
			return undefined;
		throw error;
	}
	const middleMs = (askedAtMs + Date.now()) / 2;
	return {
		name,
		faults: [
			...streamFaults(info.config),
			...serverFaults(connection.info, await serverStates(connection)),
		],
		clockAheadMs: middleMs - Date.parse(info.ts ?? ""),
		info,
	};
}

/** What in a stream's configuration could drop or refuse frames that Tidemill counts on. */
export function streamFaults(config: StreamConfig): string[] {
	const checks: [fault: boolean, text: string][] = [
		[config.storage !== StorageType.File, "storage must be file"],
		[
			config.retention !== RetentionPolicy.Limits,
			"retention must be limits: others delete what a consumer has seen",
		],
		[
			config.discard !== DiscardPolicy.New,
			"discard must be new: a full stream has to refuse, not forget",
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
			"persist_mode must not be async: it acknowledges before it writes",
		],
		[config.no_ack === true, "no_ack must be false"],
		[config.sealed === true, "the stream is sealed"],
		[config.deny_purge === true, "deny_purge must be false: archive purges"],
		[
			config.subject_transform !== undefined,
			"subject_transform must not be set",
		],
	];
	return checks
		.filter(([fault]) => fault)
		.map(([, text]) => `stream ${config.name}: ${text}`);
}

/** One server's answer on {@link serverStateSubject}; the fields that matter here. */
export interface ServerState {
	server: { name: string };
	data: { config?: { sync_always?: boolean } };
}

/** What in the servers could lose an acknowledged frame or refuse a whole one. */
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
			`NATS: max_payload is ${server?.max_payload}, must be at least ${maxFrameBytes}`,
		);
	if (states.length === 0)
		faults.push(
			`NATS: no server tells how it syncs. Export ${serverStateSubject} from the system account (response_type: stream) to this account`,
		);
	// Absent when false, and on servers without JetStream, which have no config to tell.
	for (const { server, data } of states)
		if (data.config && data.config.sync_always !== true)
			faults.push(
				`NATS server ${server.name}: set jetstream.sync_interval to always; its acknowledgement doesn't survive a power loss`,
			);
	return faults;
}

/** What each server says about its JetStream; none when this account may not ask. */
async function serverStates(
	connection: NatsConnection,
): Promise<ServerState[]> {
	const states: ServerState[] = [];
	try {
		const answers = await connection.requestMany(serverStateSubject, "", {
			maxWait: 2_000,
			strategy: "stall",
			stall: 200,
		});
		for await (const answer of answers) states.push(answer.json());
	} catch (error) {
		if (
			!(error instanceof errors.NoRespondersError) &&
			!(error instanceof errors.PermissionViolationError)
		)
			throw error;
	}
	return states;
}
