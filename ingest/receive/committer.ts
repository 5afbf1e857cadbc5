import { encodeFrameHead } from "../frame.ts";
import { selectFairly } from "./fair-selection.ts";

/** An event on its way into a frame, and its sender, who is answered exactly once: when it is stored, or given up. */
export interface PendingEvent {
	/** Source key. */
	source: string;
	/** When it was received, on the clock of {@link CommitterOptions.now}. */
	waitsSinceMs: number;
	/** The event as it stands in a frame. */
	encoded: readonly Uint8Array[];
	bytes: number;
	answerStored(): void;
	answerUnavailable(): void;
	/** Receive holds the event's bytes no longer. */
	release(): void;
}

export interface OutgoingFrame {
	stream: string;
	process: string;
	number: number;
	data: Uint8Array;
}

/**
 * - stored: the server acknowledged it, now or as a repeat.
 * - refused: the server said no; the frame isn't in the stream.
 * - unknown: anything else. It may be in the stream.
 */
export type PublishOutcome = "stored" | "refused" | "unknown";

export interface CommitterOptions {
	/** Tries once to publish. Never rejects. */
	publish(frame: OutgoingFrame): Promise<PublishOutcome>;
	/** 128 random bits as 32 hex digits. */
	newProcess(): string;
	/** Runs a function once the input that is waiting now has been read. */
	defer(run: () => void): void;
	/** Milliseconds of a clock that never jumps. */
	now(): number;
	maxFrameBytes: number;
	/** A frame is done: for metrics. */
	onFrame?(frame: {
		outcome: PublishOutcome;
		events: number;
		bytes: number;
		tookMs: number;
	}): void;
}

/** How long an event waits for a frame while there is no stream to publish to, so that it is answered within 1 s. */
const maxWaitDisconnectedMs = 800;
/** How long a sender waits for an answer. Its event's frame may be repeated beyond that. */
const maxWaitMs = 10_000;
/** No frame is published later than this after its oldest event's receipt (design §4). */
const maxRepeatMs = 60_000;
const repeatDelayMs = 250;
/** Numbers in a row that were voided before a new identity is cheaper than naming them all. */
const maxVoided = 1_000;

interface Frame extends OutgoingFrame {
	events: PendingEvent[];
	/** Their senders have an answer already. */
	isAnswered: boolean;
	sealedAtMs: number;
	/** When to publish it again; undefined while a publish is under way. */
	repeatAtMs: number | undefined;
}

/** Who numbers the frames: a new one for every stream, as its numbers must run from 1 without an unnamed gap. */
interface Identity {
	stream: string;
	process: string;
	lastNumber: number;
	/** Numbers that never were or won't be stored, to be named in the next frame. */
	voided: number[];
}

/**
 * Group commit for one shard (design §4): what arrives while a frame is on its way becomes the next frame. One frame at
 * a time is on its way, so a frame always names every number that was voided before it, and archive sees no gap.
 *
 * Driven from outside: {@link add} by requests, {@link target} by what is known of the stream, {@link tick} by a clock.
 */
export class Committer {
	readonly #options: CommitterOptions;
	#stream: string | undefined;
	#identity: Identity | undefined;
	#queue: PendingEvent[] = [];
	#frame: Frame | undefined;
	#isSealing = false;

	constructor(options: CommitterOptions) {
		this.#options = options;
	}

	/** The stream to publish to; undefined while it isn't there, isn't safe, or NATS is away. */
	target(stream: string | undefined): void {
		this.#stream = stream;
		this.#sealSoon();
	}

	add(event: PendingEvent): void {
		this.#queue.push(event);
		this.#sealSoon();
	}

	/** To be called a few times a second: answers senders who waited long enough, repeats or gives up the frame. */
	tick(): void {
		const now = this.#options.now();
		this.#expire(
			now - (this.#stream === undefined ? maxWaitDisconnectedMs : maxWaitMs),
		);
		const frame = this.#frame;
		if (!frame) return;
		const oldestMs = frame.events[0]!.waitsSinceMs;
		if (!frame.isAnswered && now - oldestMs >= maxWaitMs) {
			frame.isAnswered = true;
			answerUnavailable(frame.events);
		}
		if (frame.repeatAtMs === undefined || now < frame.repeatAtMs) return;
		const isStreamGone =
			this.#stream !== undefined && this.#stream !== frame.stream;
		if (isStreamGone || now - oldestMs >= maxRepeatMs)
			this.#finish(frame, "unknown");
		else if (this.#stream !== undefined) void this.#publish(frame);
	}

	/** Gives up the events that were received up to an instant and stand in no frame. */
	#expire(untilMs: number): void {
		const kept = this.#queue.findIndex((event) => event.waitsSinceMs > untilMs);
		const expired = this.#queue.splice(
			0,
			kept === -1 ? this.#queue.length : kept,
		);
		answerUnavailable(expired);
		release(expired);
	}

	/** Deferred, so that a frame holds all requests that one turn of the event loop reads, not the first alone. */
	#sealSoon(): void {
		if (this.#isSealing || this.#frame) return;
		this.#isSealing = true;
		this.#options.defer(() => {
			this.#isSealing = false;
			this.#seal();
		});
	}

	#seal(): void {
		if (this.#frame || !this.#queue.length || this.#stream === undefined)
			return;
		const identity = this.#identityFor(this.#stream);
		const events = this.#take(
			this.#options.maxFrameBytes - 32 - identity.voided.length * 6,
		);
		identity.lastNumber++;
		const head = encodeFrameHead(
			identity.process,
			identity.lastNumber,
			identity.voided,
			events.length,
		);
		const parts: Uint8Array[] = [head];
		for (const event of events) parts.push(...event.encoded);
		this.#frame = {
			stream: identity.stream,
			process: identity.process,
			number: identity.lastNumber,
			data: Buffer.concat(parts),
			events,
			isAnswered: false,
			sealedAtMs: this.#options.now(),
			repeatAtMs: undefined,
		};
		void this.#publish(this.#frame);
	}

	#identityFor(stream: string): Identity {
		if (
			this.#identity?.stream !== stream ||
			this.#identity.voided.length >= maxVoided
		)
			this.#identity = {
				stream,
				process: this.#options.newProcess(),
				lastNumber: 0,
				voided: [],
			};
		return this.#identity;
	}

	/** All that wait, or as many as fit: fairly to all sources, each one's oldest first. At least one. */
	#take(maxBytes: number): PendingEvent[] {
		const bytes = this.#queue.reduce((sum, event) => sum + event.bytes, 0);
		const { chosen, rest } =
			bytes <= maxBytes
				? { chosen: this.#queue, rest: [] }
				: selectFairly(this.#queue, maxBytes);
		this.#queue = rest;
		return chosen;
	}

	async #publish(frame: Frame): Promise<void> {
		frame.repeatAtMs = undefined;
		const outcome = await this.#options.publish(frame);
		if (outcome === "unknown")
			frame.repeatAtMs = this.#options.now() + repeatDelayMs;
		else this.#finish(frame, outcome);
	}

	#finish(frame: Frame, outcome: PublishOutcome): void {
		this.#frame = undefined;
		const { events } = frame;
		if (outcome === "stored") this.#identity!.voided = [];
		else this.#identity!.voided.push(frame.number);
		// At once: the next frame is on its way while these senders are answered.
		this.#seal();
		if (!frame.isAnswered)
			if (outcome === "stored")
				for (const event of events) event.answerStored();
			else answerUnavailable(events);
		release(events);
		this.#options.onFrame?.({
			outcome,
			events: events.length,
			bytes: frame.data.length,
			tookMs: this.#options.now() - frame.sealedAtMs,
		});
	}
}

function answerUnavailable(events: PendingEvent[]): void {
	for (const event of events) event.answerUnavailable();
}

function release(events: PendingEvent[]): void {
	for (const event of events) event.release();
}
