import { randomBytes } from "node:crypto";
import {
	JetStreamApiError,
	type JetStreamClient,
	jetstream,
} from "@nats-io/jetstream";
import {
	headers,
	type MsgHdrs,
	type NatsConnection,
} from "@nats-io/transport-node";
import { framesSubject } from "../../../packages/contracts/nats.ts";
import { maxClockDifferenceMs } from "../../../packages/contracts/utc-date.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { FrameRoom } from "../../../packages/streams/frame-room.ts";
import { frameId, traceHeader } from "../../wire/frame.ts";
import { leftHeader } from "../../wire/left-frames.ts";
import {
	type ClockComparison,
	inspectShardStream,
	type ShardStream,
} from "../../wire/stream-inspection.ts";
import {
	Committer,
	type FinishedFrame,
	type PendingEvent,
} from "./committer.ts";
import { rightTime } from "./event-clock.ts";
import type {
	EncodedEvent,
	OutgoingFrame,
	PublishOutcome,
} from "./frame-builder.ts";

/**
 * More waiting bytes than this go into several frames, one after the other, so that a sender doesn't wait for others'
 * bytes to be written and less is held twice. A larger event has a frame of its own.
 */
const usualFrameBytes = 2 * 1024 * 1024;

interface ShardWriterOptions {
	connection: NatsConnection;
	shard: number;
	log: Logger;
	/** For metrics. */
	onFrame(frame: FinishedFrame): void;
}

/** Writes one shard: lets its committer publish while its stream is safe to write to. */
export class ShardWriter {
	readonly committer: Committer;
	readonly #backlog = new StreamBacklog();
	readonly #connection: NatsConnection;
	readonly #shard: number;
	readonly #log: Logger;
	readonly #publisher: FramePublisher;
	/** Counts connections and inspections, so that the result of an outdated inspection is ignored. */
	#generation = 0;
	#isInspecting = false;
	#clock: ClockComparison | undefined;
	/** What the last inspection found fit to write to. */
	#inspected: Pick<ShardStream, "name" | "servers"> | undefined;
	#room: FrameRoom | undefined;
	/** What this receiver has stored since it knows the room. */
	#storedBytes = 0;
	#unavailable: string | undefined = "its stream hasn't been inspected yet";

	constructor({ connection, shard, log, onFrame }: ShardWriterOptions) {
		this.#connection = connection;
		this.#shard = shard;
		this.#log = log;
		const publisher = new FramePublisher(connection, shard, log, () => {
			if (!this.#isInspecting) void this.inspect();
		});
		this.#publisher = publisher;
		this.committer = new Committer({
			publish: (frame) => publisher.publish(frame),
			newProcess: () => randomBytes(16).toString("hex"),
			defer: setImmediate,
			now: () => performance.now(),
			date: () => this.#date(),
			maxFrameBytes: usualFrameBytes,
			onStored: (events) => this.#stored(events),
			onFrame,
		});
	}

	add(event: PendingEvent): void {
		this.committer.add(event);
	}

	/** Whether the stream has room for more events of the account. */
	hasRoomFor(account: string): boolean {
		return this.#backlog.hasRoomFor(account);
	}

	/** Whether somebody waits for the stream to change. */
	get needsInspection(): boolean {
		return (
			this.#unavailable !== undefined ||
			this.#backlog.isRefusing ||
			this.#room?.isScarce === true
		);
	}

	/** Why this shard can't store events now; undefined when it can. */
	get unavailable(): string | undefined {
		return this.#unavailable && `shard ${this.#shard}: ${this.#unavailable}`;
	}

	/**
	 * The same, unless JetStream is only full: no other receiver has more room, and senders get an answer that says when to come
	 * again.
	 */
	get notReady(): string | undefined {
		return this.#unavailable === this.#room?.full
			? undefined
			: this.unavailable;
	}

	/** Why senders got or get 503 though the shard is ready; undefined when they don't. */
	get notice(): string | undefined {
		const text = this.#room?.full ?? this.#publisher.failure;
		return text && `shard ${this.#shard}: ${text}`;
	}

	/** JetStream's room is asked for again before this receiver alone can have filled it, and nothing is stored beyond it meanwhile. */
	#stored(events: readonly EncodedEvent[]): void {
		this.#backlog.stored(events);
		const room = this.#room;
		if (!room) return;
		for (const { bytes } of events) this.#storedBytes += bytes;
		if (this.#storedBytes < room.storeBytes / 2) return;
		if (!this.#isInspecting) void this.inspect();
		if (this.#storedBytes < room.storeBytes) return;
		this.#room = { ...room, full: "JetStream may be full; NATS is asked" };
		this.#set(this.#room.full);
	}

	/** Inspects the stream and its servers, and opens or closes the shard accordingly. */
	async inspect(): Promise<void> {
		const generation = ++this.#generation;
		const storedBefore = this.#storedBytes;
		this.#isInspecting = true;
		let stream: ShardStream | undefined;
		let reason: string | undefined;
		try {
			stream = await inspectShardStream(this.#connection, this.#shard);
			reason = reasonNotToUse(stream);
		} catch (error) {
			reason = `NATS doesn't answer (${String(error)})`;
		}
		if (generation !== this.#generation) return;
		this.#isInspecting = false;
		this.#clock = stream?.clock;
		this.#room = stream?.room;
		this.#storedBytes -= storedBefore;
		this.#inspected = reason === undefined ? stream : undefined;
		if (stream) {
			const fill = fillOf(stream);
			this.#backlog.inspected(fill);
			this.committer.inspected(fill);
		}
		this.#set(reason, stream?.name);
	}

	/** The time now; undefined while this machine's clock may be wrong, until it has been compared again. */
	#date(): number | undefined {
		const date = rightTime(this.#clock, Date.now(), performance.now());
		if (date === undefined && !this.#isInspecting) {
			this.#set("this machine's clock has jumped");
			void this.inspect();
		}
		return date;
	}

	connectionLost(): void {
		this.#generation++;
		this.#isInspecting = false;
		this.#set("the connection to NATS is lost");
		this.#publisher.connectionLost();
	}

	/**
	 * Connected again. A server that still runs as it was inspected needs no inspection before the next frame: senders don't wait
	 * long, and each frame names the stream that it is for.
	 */
	reconnected(): void {
		const { name, servers = [] } = this.#inspected ?? {};
		const server = this.#connection.info?.server_id ?? "";
		if (servers.includes(server)) this.#set(undefined, name);
		void this.inspect();
	}

	#set(reason: string | undefined, stream?: string): void {
		if (reason !== this.#unavailable) {
			this.#unavailable = reason;
			if (reason === undefined)
				this.#log.info({ shard: this.#shard, stream }, "the shard is open");
			else this.#log.warn({ reason: this.unavailable }, "the shard is closed");
		}
		this.committer.target(reason === undefined ? stream : undefined);
	}
}

function fillOf({ name, info, room }: ShardStream): StreamFill {
	const { first_seq, last_seq } = info.state;
	return {
		stream: name,
		freeBytes: room.bytes,
		firstSequence: first_seq,
		lastSequence: last_seq,
	};
}

/** Why receive must not write to this stream now; undefined when it may. */
export function reasonNotToUse(
	stream: Pick<ShardStream, "faults" | "clock" | "room"> | undefined,
): string | undefined {
	if (!stream) return "its stream doesn't exist yet; archive creates it";
	if (stream.faults.length > 0) return stream.faults.join("; ");
	// Not "greater than": a server that doesn't tell its time gives NaN.
	const { aheadMs } = stream.clock;
	if (!(Math.abs(aheadMs) <= maxClockDifferenceMs))
		return `this machine's clock is ${Math.round(aheadMs / 1000)} s ahead of NATS's; synchronize both with NTP`;
	return stream.room.full;
}

interface StoredEvent {
	account: string;
	bytes: number;
}

/** What a stream holds and can hold. */
interface StreamFill {
	stream: string;
	/** Less than 0 when a limit was lowered; Infinity without one. */
	freeBytes: number;
	firstSequence: number;
	lastSequence: number;
}

/** What was stored between two looks at the stream. */
interface Segment {
	/** The last that can be in it. */
	lastSequence: number;
	bytes: Map<string, number>;
}

/** Beyond this many, the oldest are joined, so that an archive that is away for days costs no memory. */
const maxSegments = 1_000;

/** An account alone may fill four fifths of a stream. */
const maxTimesFree = 4;

/**
 * Keeps a flood into one account's Sources from filling the stream for all while archive is behind. Of what this receiver
 * has stored and archive hasn't taken yet, an account may have four times what is still free in the stream (the dynamic
 * threshold of Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998), so something is always free for the others.
 * Each receiver counts what it stored itself: n receivers together leave an account's flood at most 4n times what is free.
 */
export class StreamBacklog {
	#stream: string | undefined;
	#freeBytes = Infinity;
	#isRefusing = false;
	#segments: Segment[] = [];
	#latest = new Map<string, number>();
	/** The sum of all segments. */
	readonly #bytes = new Map<string, number>();

	/** Whether an account was refused since the stream was last looked at. */
	get isRefusing(): boolean {
		return this.#isRefusing;
	}

	hasRoomFor(account: string): boolean {
		const bytes = this.#bytes.get(account);
		if (!bytes || bytes <= maxTimesFree * this.#freeBytes) return true;
		this.#isRefusing = true;
		return false;
	}

	/** These events are in the stream now. */
	stored(events: readonly StoredEvent[]): void {
		for (const { account, bytes } of events) {
			add(this.#latest, account, bytes);
			add(this.#bytes, account, bytes);
			this.#freeBytes -= bytes;
		}
	}

	/** The stream was looked at. What archive has taken is gone from its beginning. */
	inspected(fill: StreamFill): void {
		if (fill.stream !== this.#stream) this.#clear();
		this.#stream = fill.stream;
		this.#freeBytes = fill.freeBytes;
		this.#isRefusing = false;
		if (this.#latest.size > 0) {
			const { lastSequence } = fill;
			this.#segments.push({ lastSequence, bytes: this.#latest });
			this.#latest = new Map();
		}
		while (
			this.#segments[0] &&
			this.#segments[0].lastSequence < fill.firstSequence
		)
			for (const [account, bytes] of this.#segments.shift()!.bytes)
				add(this.#bytes, account, -bytes);
		if (this.#segments.length > maxSegments) {
			const [oldest, next] = this.#segments.splice(0, 2);
			for (const [account, bytes] of oldest!.bytes)
				add(next!.bytes, account, bytes);
			this.#segments.unshift(next!);
		}
	}

	#clear(): void {
		this.#segments = [];
		this.#latest.clear();
		this.#bytes.clear();
	}
}

function add(sums: Map<string, number>, account: string, bytes: number): void {
	const sum = (sums.get(account) ?? 0) + bytes;
	if (sum === 0) sums.delete(account);
	else sums.set(account, sum);
}

/** How long one publish waits for its acknowledgement. */
const ackTimeoutMs = 5_000;

/**
 * nats-server errors after which the same publish may succeed: 10008 JSClusterNotAvailErr, 10009 JSClusterNotLeaderErr,
 * 10158 JSStreamDuplicateMessageConflict (an earlier publish of this frame is still being stored).
 */
const retryableCodes = new Set([10008, 10009, 10158]);

/** Publishes the frames of one shard. */
export class FramePublisher {
	readonly #jetstream: JetStreamClient;
	readonly #subject: string;
	readonly #log: Logger;
	readonly #onNotStored: () => void;
	readonly #awaited = new Set<(outcome: PublishOutcome) => void>();
	#failure: string | undefined;

	/** @param onNotStored called when a frame was not stored: the stream may have been recreated or changed. */
	constructor(
		connection: NatsConnection,
		shard: number,
		log: Logger,
		onNotStored: () => void,
	) {
		this.#jetstream = jetstream(connection);
		this.#subject = framesSubject(shard);
		this.#log = log;
		this.#onNotStored = onNotStored;
	}

	/** Why the latest frame that was tried isn't stored; undefined if it is. NATS may not say: with a full disk it answers nothing. */
	get failure(): string | undefined {
		return this.#failure;
	}

	/** Acknowledgements that are still awaited won't come: their outcome is unknown. */
	connectionLost(): void {
		for (const resolve of this.#awaited) resolve("unknown");
		this.#awaited.clear();
	}

	/** Tries once to publish, and notes where a stored frame is. Never rejects. The frame's bytes must not change until it settles. */
	async publish(frame: OutgoingFrame): Promise<PublishOutcome> {
		// Not Promise.race: a promise that lives as long as the connection would keep a trace of every race.
		const outcome = await new Promise<PublishOutcome>((resolve) => {
			this.#awaited.add(resolve);
			void this.#try(frame).then(({ outcome, failure }) => {
				// Otherwise the connection was lost meanwhile, and another try may have had another end.
				if (!this.#awaited.delete(resolve)) return;
				this.#failure = failure;
				resolve(outcome);
			});
		});
		if (outcome !== "stored") this.#onNotStored();
		return outcome;
	}

	async #try(
		frame: OutgoingFrame,
	): Promise<{ outcome: PublishOutcome; failure: string | undefined }> {
		const { stream, process, number, traces, left } = frame;
		try {
			const { seq } = await this.#jetstream.publish(this.#subject, frame.data, {
				msgID: frameId(process, number),
				expect: { streamName: stream },
				timeout: ackTimeoutMs,
				...((traces || left) && { headers: headersOf(frame) }),
			});
			frame.sequence = seq;
			return { outcome: "stored", failure: undefined };
		} catch (error) {
			const isRefused =
				error instanceof JetStreamApiError && !retryableCodes.has(error.code);
			const reason = error instanceof Error ? error.message : String(error);
			this.#log.warn(
				{ err: error, stream, process, number },
				isRefused
					? "the stream refused a frame; its senders are told to send again"
					: "the outcome of a frame is unknown; publishing it again",
			);
			return {
				outcome: isRefused ? "refused" : "unknown",
				failure: `NATS did not take the latest frame (${reason}); its senders got 503`,
			};
		}
	}
}

function headersOf({ traces = [], left = [] }: OutgoingFrame): MsgHdrs {
	const made = headers();
	for (const trace of traces) made.append(traceHeader, trace);
	for (const value of left) made.append(leftHeader, value);
	return made;
}
