import { isUtf8 } from "node:buffer";
import {
	DeliverPolicy,
	type JetStreamClient,
	type JsMsg,
} from "@nats-io/jetstream";
import { freeInput } from "../../../packages/service/nats/input-room.ts";
import {
	decodeFrame,
	type Frame,
	FrameError,
	readFrameTraces,
	traceHeader,
} from "../../wire/frame.ts";
import { leftHeader, readLeft } from "../../wire/left-frames.ts";
import { SharedFields } from "../../wire/shared-fields.ts";
import { Alarm } from "../decide/alarm.ts";
import type { StreamFrame } from "../decide/cut.ts";
import { FrameBatches, MessageTooLarge } from "./frame-batches.ts";

/**
 * The frames aren't where they were expected: another archiver has purged them, or NATS was restarted. That is no fault
 * yet. Reading restarts at the newest cut.
 */
export class PositionLost extends Error {
	override name = "PositionLost";
}

/** The stream goes on behind a sequence that didn't arrive: it is purged, or NATS has lost it. */
export class SequenceSkipped extends PositionLost {
	override name = "SequenceSkipped";
	readonly sequence: number;

	constructor(stream: string, sequence: number, next: number) {
		super(
			`stream ${stream} continues at sequence ${next} after ${sequence - 1}`,
		);
		this.sequence = sequence;
	}
}

export interface ReadFrame extends StreamFrame {
	/** The message's bytes. Events are views of them. */
	data: Uint8Array;
}

/** The frames that were read and belong to no cut yet. */
export interface UncutFrames {
	frames: number;
	bytes: number;
	/** How many sources have events among them. */
	sources: number;
	/** When the oldest was read, by performance.now(); NaN if there is none. */
	sinceMs: number;
	/** Sequence of the latest frame read, cut or not. */
	lastSequence: number;
}

/** A stream's frames from one sequence on, read ahead up to a limit of bytes. */
export class FrameQueue {
	readonly #batches: FrameBatches;
	readonly #stream: string;
	readonly #limits: CutSize;
	readonly #isTraced: boolean;
	readonly #onChange: () => void;
	#frames: (ReadFrame & { readAtMs: number })[] = [];
	#bytes = 0;
	/** Bytes of frames that were taken and not freed yet. */
	#takenBytes = 0;
	readonly #shared = new SharedFields();
	#sources = new Set<string>();
	#lastSequence: number;
	/** Read through this sequence even beyond the limit. */
	#wanted = 0;
	#room: (() => void) | undefined;
	#failure: unknown;

	private constructor(
		batches: FrameBatches,
		options: Parameters<typeof FrameQueue.open>[1],
	) {
		this.#batches = batches;
		this.#stream = options.stream;
		this.#limits = options.limits;
		this.#isTraced = options.isTraced ?? false;
		this.#onChange = options.onChange;
		this.#lastSequence = options.from - 1;
	}

	/** Calls `onChange` after each frame, and after a failure. */
	static async open(
		jetstream: JetStreamClient,
		options: {
			stream: string;
			from: number;
			limits: CutSize;
			/** Whether to read which events have traces. */
			isTraced?: boolean;
			onChange: () => void;
		},
	): Promise<FrameQueue> {
		const consumer = await jetstream.consumers.get(options.stream, {
			deliver_policy: DeliverPolicy.StartSequence,
			opt_start_seq: options.from,
		});
		const queue = new FrameQueue(new FrameBatches(consumer), options);
		void queue.#read();
		return queue;
	}

	get uncut(): UncutFrames {
		return {
			frames: this.#frames.length,
			bytes: this.#bytes,
			sources: this.#sources.size,
			sinceMs: this.#frames[0]?.readAtMs ?? NaN,
			lastSequence: this.#lastSequence,
		};
	}

	/** Stream time of the oldest frame that belongs to no cut. */
	get oldestTimeMs(): number | undefined {
		return this.#frames[0]?.timeMs;
	}

	/** Throws what ended the reading: {@link Alarm}, {@link PositionLost}, or what NATS said. */
	throwIfFailed(): void {
		if (this.#failure !== undefined) throw this.#failure;
	}

	/** Whether reading ended at a message that raises an alarm, or at one that isn't there. */
	get hasEnd(): boolean {
		const failure = this.#failure;
		return failure instanceof Alarm || failure instanceof SequenceSkipped;
	}

	peek(): readonly StreamFrame[] {
		return this.#frames;
	}

	/** Makes the queue read through this sequence, even beyond its limit of bytes. */
	want(sequence: number): void {
		this.#wanted = Math.max(this.#wanted, sequence);
		this.#room?.();
	}

	/** Removes and returns the frames through this sequence. They must have been read, and are to be freed. */
	take(last: number): ReadFrame[] {
		const count = this.#frames.findLastIndex(
			({ sequence }) => sequence <= last,
		);
		const taken = this.#frames.splice(0, count + 1);
		for (const { bytes } of taken) {
			this.#bytes -= bytes;
			this.#takenBytes += bytes;
		}
		this.#sources = new Set();
		for (const { frame } of this.#frames) this.#count(frame);
		this.#room?.();
		return taken;
	}

	/** Frees the memory of frames that were taken. Nobody may read them any more. */
	free(frames: readonly ReadFrame[]): void {
		for (const { data, bytes } of frames) {
			freeInput(data);
			this.#takenBytes -= bytes;
		}
		this.#room?.();
	}

	async close(): Promise<void> {
		const closing = this.#batches.close();
		this.#room?.();
		await closing;
	}

	async #read(): Promise<void> {
		const take = async (message: JsMsg) => {
			this.#push(message);
			await this.#untilRoom();
			return true;
		};
		try {
			do await this.#untilRoom();
			while (!this.#batches.isClosed && (await this.#batches.read(take)));
		} catch (error) {
			if (this.#batches.isClosed) return;
			this.#failure =
				error instanceof MessageTooLarge
					? new Alarm(
							"FrameUnreadable",
							`stream ${this.#stream}, sequence ${this.#lastSequence + 1}: ${error.message}`,
						)
					: error;
			this.#onChange();
		}
	}

	#push(message: JsMsg): void {
		const { streamSequence: sequence, timestampNanos } = message.info;
		if (sequence !== this.#lastSequence + 1)
			throw new SequenceSkipped(this.#stream, this.#lastSequence + 1, sequence);
		const bytes = message.data.length;
		const frame = readFrame(message.data, this.#shared, this.#stream, sequence);
		if (this.#isTraced) noteTraces(frame, message);
		const left = readLeft(message.headers?.values(leftHeader) ?? []);
		this.#frames.push({
			sequence,
			timeMs: Math.floor(timestampNanos / 1e6),
			bytes,
			readAtMs: performance.now(),
			data: message.data,
			frame,
			...(left.length > 0 && { left }),
		});
		this.#count(frame);
		this.#lastSequence = sequence;
		this.#bytes += bytes;
		this.#onChange();
	}

	#count({ events }: Frame): void {
		for (const { sourceKey } of events) this.#sources.add(sourceKey);
	}

	/** Beside a large cut that is being written, half of the next one is read ahead. */
	get #mostBytes(): number {
		const ofCut = cutBytes(this.#limits, this.#sources.size);
		return Math.max(this.#limits.maxBytes, ofCut - this.#takenBytes / 2);
	}

	async #untilRoom(): Promise<void> {
		while (
			this.#bytes >= this.#mostBytes &&
			this.#lastSequence >= this.#wanted &&
			!this.#batches.isClosed
		)
			await new Promise<void>((resolve) => {
				this.#room = resolve;
			});
		this.#room = undefined;
	}
}

function noteTraces({ events }: Frame, { headers }: JsMsg): void {
	for (const [index, trace] of readFrameTraces(
		headers?.values(traceHeader) ?? [],
	)) {
		const event = events[index];
		if (event) event.trace = trace;
	}
}

function decodeWhole(data: Uint8Array, shared: SharedFields): Frame {
	const frame = decodeFrame(data, shared);
	for (const { body } of frame.events)
		if (!isUtf8(body)) throw new FrameError("a body isn't UTF-8");
	return frame;
}

/** Why this version of archive can't read a frame; undefined if it can. */
export function whyUnreadable(data: Uint8Array): string | undefined {
	try {
		decodeWhole(data, new SharedFields());
		return undefined;
	} catch (error) {
		if (!(error instanceof FrameError)) throw error;
		return error.message;
	}
}

function readFrame(
	data: Uint8Array,
	shared: SharedFields,
	stream: string,
	sequence: number,
): Frame {
	try {
		return decodeWhole(data, shared);
	} catch (error) {
		if (!(error instanceof FrameError)) throw error;
		throw new Alarm(
			"FrameUnreadable",
			`stream ${stream}, sequence ${sequence}: ${error.message}`,
			{ cause: error },
		);
	}
}

/** How many bytes of frames make a cut. */
export interface CutSize {
	/** Of few sources. */
	maxBytes: number;
	/** Of however many sources: bounds the memory that a shard takes. */
	mostBytes: number;
}

/** So many sources give their objects a useful size: 256 KiB in a cut of 8 MiB. */
const usualSources = 32;

/**
 * How many bytes of frames make a cut. Each source gets an object, whose file and request cost more than a few events, so
 * a cut of many sources is larger than `maxBytes`.
 */
export function cutBytes(
	{ maxBytes, mostBytes }: CutSize,
	sources: number,
): number {
	const wanted = maxBytes * Math.max(1, sources / usualSources);
	return Math.max(maxBytes, Math.min(mostBytes, wanted));
}

/** The most times that a cut of many sources is as large as one of few, in a process with one shard. */
const mostTimes = 8;
/** The same for the cuts of all shards of a process together. */
const mostTimesOfAll = 12;

/** The sizes of cuts in a process with so many shards, which share its memory. */
export function cutSize(maxBytes: number, shards: number): CutSize {
	const times = Math.min(mostTimes, Math.max(1, mostTimesOfAll / shards));
	return { maxBytes, mostBytes: maxBytes * times };
}
