import { randomBytes } from "node:crypto";
import {
	DeliverPolicy,
	DiscardPolicy,
	JetStreamApiError,
	jetstream,
	jetstreamManager,
	RetentionPolicy,
	StorageType,
	type StreamAPI,
	type StreamConfig,
} from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import { type NatsConnection, nanos } from "@nats-io/transport-node";
import {
	bucket,
	duplicateWindowMs,
	framesSubject,
	streamName,
} from "../../../packages/contracts/nats.ts";
import type { Logger } from "../../../packages/service/log.ts";
import {
	isConflict,
	isNoRoom,
	isStreamNotFound,
} from "../../../packages/service/nats/connection.ts";
import { decodeFrame, frameId } from "../../wire/frame.ts";
import { inspectShardStream } from "../../wire/stream-inspection.ts";
import type { FrameMark } from "../decide/cut.ts";
import type { StreamAtCut } from "../decide/resume.ts";

export interface StreamSettings {
	/** When the stream is this full, it refuses frames. Must be well below the disk's size. */
	maxBytes: number;
	replicas: number;
}

/**
 * Another archiver made the stream first: nats-server's JSStreamSubjectOverlapErr, or JSStreamNameExistErr if its settings
 * differ.
 */
const alreadyMade = new Set([10065, 10058]);

/**
 * Returns the name of the stream that takes the shard's frames, and creates it if it is missing.
 * Throws if its settings, or its servers', could lose an acknowledged event.
 */
export async function openShardStream(
	connection: NatsConnection,
	shard: number,
	settings: StreamSettings,
	log: Logger,
): Promise<string> {
	const nextName = await NextStreamName.open(
		connection,
		shard,
		settings.replicas,
	);
	let stream = await inspectShardStream(connection, shard);
	if (!stream) {
		const name = await nextName.get();
		await createStream(connection, shard, name, settings, log);
		stream = await inspectShardStream(connection, shard);
	}
	if (!stream)
		throw new Error(
			`shard ${shard}: its stream vanished right after its creation`,
		);
	const faults = [...stream.faults, ...unfitness(shard, stream.info.config)];
	if (faults.length > 0)
		throw new Error(
			`shard ${shard}: its stream could lose events. ${faults.join("; ")}`,
		);
	await nextName.use(stream.name);
	if (stream.info.config.max_bytes !== settings.maxBytes)
		await resize(connection, stream.name, settings, log);
	return stream.name;
}

/** The setting has changed since the stream was made. Below a lower limit nothing is deleted: the stream refuses frames until it holds less. */
async function resize(
	connection: NatsConnection,
	stream: string,
	{ maxBytes }: StreamSettings,
	log: Logger,
): Promise<void> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	try {
		await streams.update(stream, { max_bytes: maxBytes });
		log.info({ stream, maxBytes }, "changed the stream's limit");
	} catch (error) {
		if (!isNoRoom(error)) throw error;
		log.warn(
			{ stream, maxBytes },
			"the stream keeps its former limit: JetStream has no room for STREAM_MAX_BYTES. Raise max_file_store, or the account's limit",
		);
	}
}

/** The frame at this sequence, the last of a cut. @param readHeader finds a large one without its bytes. */
export async function readStreamAt(
	streams: StreamAPI,
	stream: string,
	sequence: number | undefined,
	readHeader: () => Promise<FrameMark | undefined> = async () => undefined,
): Promise<StreamAtCut> {
	// The end is read first. If the stream ends before the sequence, a later frame there could be a new one.
	const { last_seq: lastSequence } = (await streams.info(stream)).state;
	const header =
		sequence && sequence <= lastSequence ? await readHeader() : undefined;
	if (header) return { lastSequence, lastFrame: header };
	const message =
		sequence && (await streams.getMessage(stream, { seq: sequence }));
	if (!message) return { lastSequence, lastFrame: undefined };
	const { process, number } = decodeFrame(message.data);
	const time = message.time.toISOString();
	return { lastSequence, lastFrame: { id: frameId(process, number), time } };
}

/**
 * The first sequence from `from` on that the stream holds, or would give to its next frame; `from` if frames there were
 * purged meanwhile. NATS loses what is damaged on its disk without a word: consumers skip it, and the stream's state may
 * count it as there (seen with nats-server 2.15.2).
 */
export async function firstHeld(
	streams: StreamAPI,
	stream: string,
	subject: string,
	from: number,
): Promise<number> {
	const { last_seq: lastSequence } = (await streams.info(stream)).state;
	if (lastSequence < from) return from;
	// JetStream's API takes both fields together; the client's types don't say so.
	const query = { seq: from, next_by_subj: subject };
	const next = await streams.getMessage(stream, query);
	const held = next?.seq ?? lastSequence + 1;
	if (held === from) return from;
	const { first_seq: firstSequence } = (await streams.info(stream)).state;
	return firstSequence > from ? from : held;
}

/** The sequences of a stream that may be gone; undefined if it is. */
export async function sequencesOf(
	streams: StreamAPI,
	stream: string,
): Promise<{ firstSequence: number; lastSequence: number } | undefined> {
	try {
		const { state } = await streams.info(stream);
		return { firstSequence: state.first_seq, lastSequence: state.last_seq };
	} catch (error) {
		// A server that can't tell yet answers another error, or none.
		if (!isStreamNotFound(error)) throw error;
		return undefined;
	}
}

async function createStream(
	connection: NatsConnection,
	shard: number,
	name: string,
	settings: StreamSettings,
	log: Logger,
): Promise<void> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	try {
		await streams.add({
			name,
			description: `Frames of shard ${shard} on their way to S3`,
			subjects: [framesSubject(shard)],
			storage: StorageType.File,
			retention: RetentionPolicy.Limits,
			discard: DiscardPolicy.New,
			max_bytes: settings.maxBytes,
			duplicate_window: nanos(duplicateWindowMs),
			num_replicas: settings.replicas,
			allow_direct: true,
			deny_delete: true,
			deny_purge: false,
		});
		log.info({ shard, stream: name }, "created the shard's stream");
	} catch (error) {
		if (!(error instanceof JetStreamApiError) || !alreadyMade.has(error.code))
			throw error;
	}
}

/** Why archive can't use the stream, beyond what makes it unsafe for receive. */
function unfitness(shard: number, config: StreamConfig): string[] {
	const subject = framesSubject(shard);
	const faults: string[] = [];
	if (config.subjects.length !== 1 || config.subjects[0] !== subject)
		faults.push(
			`stream ${config.name}: subjects must be ${subject} alone, not ${config.subjects.join(", ")}`,
		);
	if (config.mirror || config.sources?.length)
		faults.push(`stream ${config.name}: it must not have a mirror or sources`);
	if (!config.name.startsWith(streamName(shard, "")))
		faults.push(
			`stream ${config.name}: its name must be ${streamName(shard, "")} and an epoch that no other stream has had`,
		);
	return faults;
}

/** From here on a consumer for one message takes less than the message, which comes as base64 in JSON. */
const largeFrameBytes = 256 * 1024;
const expiresMs = 1_000;

/**
 * The ID and time of the frame at this sequence, by its message's headers alone. Undefined for a small frame, and if the
 * headers don't tell: then the message itself does.
 */
export async function readFrameHeader(
	connection: NatsConnection,
	stream: string,
	sequence: number,
	bytes: number,
): Promise<FrameMark | undefined> {
	if (bytes < largeFrameBytes) return undefined;
	const consumer = await jetstream(connection).consumers.get(stream, {
		deliver_policy: DeliverPolicy.StartSequence,
		opt_start_seq: sequence,
		headers_only: true,
	});
	try {
		const message = await consumer.next({ expires: expiresMs });
		const id = message?.headers?.get("Nats-Msg-Id");
		if (!id || message?.info.streamSequence !== sequence) return undefined;
		const timeMs = Math.floor(message.info.timestampNanos / 1e6);
		return { id, time: new Date(timeMs).toISOString() };
	} finally {
		await consumer.delete().catch(() => undefined);
	}
}

/**
 * The name of a shard's next stream. Archivers that create it at the same time agree on the name first: nats-server 2.15.2
 * writes both of two streams with one subject to disk. It refuses the second, but after a restart it may recover that one
 * instead of the first, and stays unhealthy.
 */
export class NextStreamName {
	readonly #kv: KV;
	readonly #key: string;
	readonly #shard: number;

	private constructor(kv: KV, shard: number) {
		this.#kv = kv;
		this.#key = `next-stream.${shard}`;
		this.#shard = shard;
	}

	static async open(
		connection: NatsConnection,
		shard: number,
		replicas: number,
	): Promise<NextStreamName> {
		const kv = await new Kvm(connection).create(bucket.objectsDone, {
			replicas,
			history: 1,
			storage: StorageType.File,
		});
		return new NextStreamName(kv, shard);
	}

	/** The same name for all callers until it is used. Its epoch is new. */
	async get(): Promise<string> {
		for (;;) {
			const current = await this.#current();
			if (current) return current.name;
			const name = streamName(this.#shard, randomBytes(8).toString("hex"));
			try {
				await this.#kv.create(this.#key, name);
				return name;
			} catch (error) {
				if (!isConflict(error)) throw error;
			}
		}
	}

	/** A stream of this name exists now, so the next stream gets another name. */
	async use(name: string): Promise<void> {
		const current = await this.#current();
		if (current?.name !== name) return;
		try {
			await this.#kv.delete(this.#key, { previousSeq: current.revision });
		} catch (error) {
			if (!isConflict(error)) throw error;
		}
	}

	async #current(): Promise<{ name: string; revision: number } | undefined> {
		const entry = await this.#kv.get(this.#key);
		return entry?.operation === "PUT"
			? { name: entry.string(), revision: entry.revision }
			: undefined;
	}
}
