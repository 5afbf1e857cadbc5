import type { TraceContext } from "../../../packages/service/trace-context.ts";
import {
	encodeFrameHead,
	type FrameVersion,
	frameTrace,
	maxFrameTraces,
} from "../../wire/frame.ts";
import {
	type InspectedStream,
	LeftStreams,
	StoredNumbers,
} from "./left-frames.ts";

/** An event, encoded for a frame. */
export interface EncodedEvent {
	readonly account: string;
	/** Source key. */
	readonly source: string;
	readonly encoded: readonly Uint8Array[];
	readonly bytes: number;
	/** The oldest version of the frame format that can hold it. */
	readonly frameVersion: FrameVersion;
	/** Undefined for an event without a trace. */
	readonly trace?: { readonly store: TraceContext } | undefined;
}

export interface OutgoingFrame {
	stream: string;
	process: string;
	number: number;
	data: Uint8Array;
	/** Values of the message's header `Tidemill-Trace`; absent for none. */
	traces?: readonly string[];
	/** Values of the message's header `Tidemill-Left`; absent for none. */
	left?: readonly string[];
	/** Its place in the stream, once it is stored. */
	sequence?: number;
}

/**
 * - stored: the server acknowledged the frame, as new or as a repeat.
 * - refused: the server refused the frame; it isn't in the stream.
 * - unknown: anything else. The frame may be in the stream.
 */
export type PublishOutcome = "stored" | "refused" | "unknown";

export interface FrameBuilderOptions {
	/** 128 random bits as 32 hex digits. */
	newProcess(): string;
	/** A single event may have more. */
	maxFrameBytes: number;
}

/** After this many voided numbers that archive may not know a new process id is cheaper than naming them all. */
const maxVoided = 1_000;

/** Each stream gets a process id of its own, whose frame numbers run from 1 and name every gap. */
interface Numbering {
	stream: string;
	process: string;
	lastNumber: number;
	known: StoredNumbers;
	/** Numbers of frames that were refused or given up, for the next frame to name. */
	voided: number[];
}

/** Puts waiting events into numbered frames, one frame at a time. */
export class FrameBuilder {
	readonly #options: FrameBuilderOptions;
	#numbering: Numbering | undefined;
	readonly #left = new LeftStreams();
	readonly #memory = new FrameMemory();

	constructor(options: FrameBuilderOptions) {
		this.#options = options;
	}

	/** Makes the stream's next frame of the events, of which there is at least one. The rest must wait for another frame. */
	build<T extends EncodedEvent>(
		stream: string,
		waiting: readonly T[],
	): { frame: OutgoingFrame; events: readonly T[]; rest: T[] } {
		const numbering = this.#numberingFor(stream);
		const { process, voided } = numbering;
		const { chosen, rest } = choose(
			waiting,
			this.#options.maxFrameBytes - 32 - voided.length * 6,
		);
		const number = ++numbering.lastNumber;
		const head = encodeFrameHead(
			process,
			number,
			voided,
			chosen.length,
			newestOf(chosen),
		);
		const parts: Uint8Array[] = [head];
		for (const event of chosen) parts.push(...event.encoded);
		const data = this.#memory.join(parts);
		const traces = tracesOf(chosen);
		const left = this.#left.next(stream);
		const frame: OutgoingFrame = {
			...{ stream, process, number, data },
			...(traces && { traces }),
			...(left && { left }),
		};
		return { frame, events: chosen, rest };
	}

	/**
	 * The latest frame is stored, and so are the voided numbers that it names.
	 * @param atMs milliseconds since the epoch.
	 */
	stored(sequence: number, atMs: number): void {
		const { stream, known, lastNumber } = this.#numbering!;
		this.#numbering!.voided = [];
		known.stored(lastNumber, sequence, atMs);
		this.#left.stored(stream, sequence);
	}

	/** The latest frame was refused or given up. The next one names its number, so that archive doesn't miss that frame. */
	voided(): void {
		const { voided, known, lastNumber } = this.#numbering!;
		voided.push(lastNumber);
		known.void(lastNumber);
	}

	/** The stream was looked at: archive has taken what comes before its first sequence. */
	inspected({ stream, firstSequence, lastSequence }: InspectedStream): void {
		if (this.#numbering?.stream !== stream) return;
		this.#numbering.known.inspected(firstSequence, lastSequence);
		this.#left.inspected(stream, firstSequence);
	}

	/** Nobody reads the latest frame's bytes any more. */
	reuse(data: Uint8Array): void {
		this.#memory.giveBack(data);
	}

	#numberingFor(stream: string): Numbering {
		const before = this.#numbering;
		if (before?.stream === stream && before.known.voided < maxVoided)
			return before;
		if (before) this.#left.leave(before.known);
		const process = this.#options.newProcess();
		const known = new StoredNumbers(stream, process);
		this.#numbering = { stream, process, lastNumber: 0, voided: [], known };
		return this.#numbering;
	}
}

function newestOf(events: readonly EncodedEvent[]): FrameVersion {
	let newest: FrameVersion = 1;
	for (const { frameVersion } of events)
		if (frameVersion > newest) newest = frameVersion;
	return newest;
}

function tracesOf(events: readonly EncodedEvent[]): string[] | undefined {
	let traces: string[] | undefined;
	for (let index = 0; index < events.length; index++) {
		const { trace } = events[index]!;
		if (!trace) continue;
		traces ??= [];
		if (traces.length === maxFrameTraces) break;
		traces.push(frameTrace(index, trace.store));
	}
	return traces;
}

/** Chooses all events, or as many as fit: fairly to all accounts and their Sources, the oldest of each first. At least one. */
function choose<T extends EncodedEvent>(
	waiting: readonly T[],
	maxBytes: number,
): { chosen: readonly T[]; rest: T[] } {
	const bytes = waiting.reduce((sum, event) => sum + event.bytes, 0);
	return bytes <= maxBytes
		? { chosen: waiting, rest: [] }
		: selectFairly(waiting, maxBytes);
}

/** Reuses one buffer for frame after frame, because a new one for each would keep the garbage collector running. */
class FrameMemory {
	#spare: Buffer | undefined;

	/** Joins the parts. Nobody may change or give back the result while it is still read. */
	join(parts: readonly Uint8Array[]): Buffer {
		const bytes = parts.reduce((sum, part) => sum + part.length, 0);
		const spare = this.#spare;
		this.#spare = undefined;
		const whole =
			spare && spare.length >= bytes
				? spare
				: Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(bytes)));
		let at = 0;
		for (const part of parts) {
			whole.set(part, at);
			at += part.length;
		}
		return whole.subarray(0, bytes);
	}

	giveBack(joined: Uint8Array): void {
		this.#spare = Buffer.from(joined.buffer);
	}
}

interface Candidate {
	account: string;
	/** Source key. */
	source: string;
	bytes: number;
}

/**
 * Chooses the events of a frame that is too small for all: one event per account in turn, and of an account one per Source
 * in turn, the oldest of each first, and at least one. The chosen and the rest keep their order.
 */
export function selectFairly<T extends Candidate>(
	candidates: readonly T[],
	maxBytes: number,
): { chosen: T[]; rest: T[] } {
	const inTurn = taken(candidates, ({ account }) => account, ofAccount);
	const chosen = new Set<T>();
	let bytes = 0;
	for (const candidate of inTurn) {
		bytes += candidate.bytes;
		if (chosen.size > 0 && bytes > maxBytes) break;
		chosen.add(candidate);
	}
	return {
		chosen: candidates.filter((candidate) => chosen.has(candidate)),
		rest: candidates.filter((candidate) => !chosen.has(candidate)),
	};
}

function ofAccount<T extends Candidate>(candidates: readonly T[]): Iterable<T> {
	return taken(
		candidates,
		({ source }) => source,
		(lane) => lane,
	);
}

/** Groups the candidates, orders each group, and takes one from each group in turn until all are taken. */
function* taken<T>(
	candidates: readonly T[],
	groupOf: (candidate: T) => string,
	order: (group: T[]) => Iterable<T>,
): Generator<T> {
	let lanes = [...Map.groupBy(candidates, groupOf).values()].map((group) =>
		order(group)[Symbol.iterator](),
	);
	while (lanes.length > 0) {
		const open: Iterator<T>[] = [];
		for (const lane of lanes) {
			const { done, value } = lane.next();
			if (done) continue;
			yield value;
			open.push(lane);
		}
		lanes = open;
	}
}
