import { encodeFrameHead } from "../../wire/frame.ts";
import { selectFairly } from "./fair-selection.ts";
import { FrameMemory } from "./frame-memory.ts";

/** An event on its way into a frame, and its sender, who is answered exactly once: when it is stored, or given up. */
export interface PendingEvent {
	/** Source key. */
	source: string;
	/** When it was received, on the clock of {@link CommitterOptions.now}. */
	waitsSinceMs: number;
	/** The event as it stands in a frame. */
	encoded: readonly Uint8Array[];
	bytes: number;
	/** It has an idempotency key. */
	hasKey?: boolean;
	answerStored(): void;
	answerUnavailable(): void;
	/**
	 * Receive holds the event's bytes no longer, and this became of it; `refused` also when it stood in no frame.
	 * Its sender may have been answered long before.
	 */
	release(outcome: PublishOutcome, frame?: OutgoingFrame): void;
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
	/** Tries once to publish. Never rejects. The frame's bytes are there until it settles. */
	publish(frame: OutgoingFrame): Promise<PublishOutcome>;
	/** 128 random bits as 32 hex digits. */
	newProcess(): string;
	/** Runs a function once the input that is waiting now has been read. */
	defer(run: () => void): void;
	/** Milliseconds of a clock that never jumps. */
	now(): number;
	/** A single event may have more. */
	maxFrameBytes: number;
	/** A frame is done: for metrics. */
	onFrame?(frame: {
		outcome: PublishOutcome;
		events: number;
		bytes: number;
		tookMs: number;
	}): void;
}

/** How long a sender waits while nothing is acknowledged, to be answered within 1 s. Its event may be stored later. */
const maxWaitStuckMs = 800;
/** How long a sender waits while frames are acknowledged, however slowly. */
const maxWaitMs = 10_000;
/** No frame is published later than this after its oldest event's receipt (design §4). */
const maxRepeatMs = 60_000;
const repeatDelayMs = 250;
/** Numbers in a row that were voided before a new identity is cheaper than naming them all. */
const maxVoided = 1_000;

interface Frame extends OutgoingFrame {
	events: readonly PendingEvent[];
	/** Those of them whose senders have no answer yet. */
	unanswered: readonly PendingEvent[];
	/** When the oldest of the events was received. */
	oldestMs: number;
	sealedAtMs: number;
	publishes: number;
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
	readonly #memory = new FrameMemory();

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
		const isStuck =
			this.#stream === undefined ||
			(this.#frame && now - this.#frame.sealedAtMs >= maxWaitStuckMs);
		const untilMs = now - (isStuck ? maxWaitStuckMs : maxWaitMs);
		const queued = expire(this.#queue, untilMs);
		this.#queue = queued.kept;
		release(queued.expired, "refused");
		const frame = this.#frame;
		if (!frame) return;
		frame.unanswered = expire(frame.unanswered, untilMs).kept;
		if (frame.repeatAtMs === undefined || now < frame.repeatAtMs) return;
		const isStreamGone =
			this.#stream !== undefined && this.#stream !== frame.stream;
		if (isStreamGone || now - frame.oldestMs >= maxRepeatMs)
			this.#finish(frame, "unknown");
		else if (this.#stream !== undefined) void this.#publish(frame);
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
			events.some(({ hasKey }) => hasKey) ? 2 : 1,
		);
		const parts: Uint8Array[] = [head];
		for (const event of events) parts.push(...event.encoded);
		const data = this.#memory.join(parts);
		this.#frame = {
			stream: identity.stream,
			process: identity.process,
			number: identity.lastNumber,
			data,
			publishes: 0,
			events,
			unanswered: events,
			oldestMs: events.reduce(
				(oldest, event) => Math.min(oldest, event.waitsSinceMs),
				Number.POSITIVE_INFINITY,
			),
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
		frame.publishes++;
		const outcome = await this.#options.publish(frame);
		if (outcome === "unknown")
			frame.repeatAtMs = this.#options.now() + repeatDelayMs;
		else this.#finish(frame, outcome);
	}

	#finish(frame: Frame, outcome: PublishOutcome): void {
		this.#frame = undefined;
		// Of a frame that was published again an earlier publish may be on its way still.
		if (outcome === "stored" && frame.publishes === 1)
			this.#memory.giveBack(frame.data);
		const { events, unanswered } = frame;
		const bytes = frame.data.length;
		if (outcome === "stored") this.#identity!.voided = [];
		else this.#identity!.voided.push(frame.number);
		// Made before the answers. The NATS client writes it in a microtask, so it goes out after them.
		this.#seal();
		if (outcome === "stored")
			for (const event of unanswered) event.answerStored();
		else answerUnavailable(unanswered);
		release(events, outcome, frame);
		this.#options.onFrame?.({
			outcome,
			events: events.length,
			bytes,
			tookMs: this.#options.now() - frame.sealedAtMs,
		});
	}
}

/** Answers those that have waited since that instant or longer. */
function expire(
	events: readonly PendingEvent[],
	untilMs: number,
): { expired: PendingEvent[]; kept: PendingEvent[] } {
	const expired: PendingEvent[] = [];
	const kept: PendingEvent[] = [];
	for (const event of events)
		(event.waitsSinceMs <= untilMs ? expired : kept).push(event);
	answerUnavailable(expired);
	return { expired, kept };
}

function answerUnavailable(events: readonly PendingEvent[]): void {
	for (const event of events) event.answerUnavailable();
}

function release(
	events: readonly PendingEvent[],
	outcome: PublishOutcome,
	frame?: OutgoingFrame,
): void {
	for (const event of events) event.release(outcome, frame);
}
