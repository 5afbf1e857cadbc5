import { isTimely, maxRepeatMs } from "./event-clock.ts";
import {
	type EncodedEvent,
	FrameBuilder,
	type FrameBuilderOptions,
	type OutgoingFrame,
	type PublishOutcome,
} from "./frame-builder.ts";
import type { InspectedStream } from "./left-frames.ts";

/** An event that waits to be stored, and its sender, who is answered exactly once: when the event is stored or given up. */
export interface PendingEvent extends EncodedEvent {
	/** When it was received, on the clock of {@link CommitterOptions.now}. */
	readonly waitingSinceMs: number;
	/** The time of its receipt that it has, milliseconds since the epoch. */
	readonly receivedAtMs: number;
	answerStored(): void;
	answerUnavailable(): void;
	/**
	 * Receive holds the event's bytes no longer, and this became of the event. The outcome is `refused` too if the event
	 * was in no frame. Its sender may have been answered long before.
	 */
	settle(outcome: PublishOutcome, frame?: OutgoingFrame): void;
}

export interface FinishedFrame {
	outcome: PublishOutcome;
	events: number;
	bytes: number;
	tookMs: number;
}

interface CommitterOptions extends FrameBuilderOptions {
	/** {@link file://./shard-writer.ts FramePublisher.publish} */
	publish(frame: OutgoingFrame): Promise<PublishOutcome>;
	/** Runs a function after all input that is waiting now has been read. */
	defer(run: () => void): void;
	/** Milliseconds of a clock that never jumps. */
	now(): number;
	/** The date and time, milliseconds since the epoch; undefined while this machine's clock may be wrong. */
	date(): number | undefined;
	/** These events are in the stream. */
	onStored?(events: readonly EncodedEvent[]): void;
	/** For metrics. */
	onFrame?(frame: FinishedFrame): void;
}

/** How long a sender waits while nothing is acknowledged, so that it gets an answer within 1 s. Its event may be stored later. */
const maxWaitStuckMs = 800;
/** How long a sender waits while frames are acknowledged, however slowly. */
const maxWaitMs = 10_000;
const repeatDelayMs = 250;

interface FrameInFlight extends OutgoingFrame {
	events: readonly PendingEvent[];
	/** The events whose senders have no answer yet. */
	unanswered: readonly PendingEvent[];
	/** When the oldest event was received. */
	oldestMs: number;
	builtAtMs: number;
	/** The date then, milliseconds since the epoch. */
	builtDateMs: number;
	publishes: number;
	/** When to publish it again; undefined during a publish. */
	repeatAtMs: number | undefined;
}

/**
 * Group commit for one shard: the events that arrive while a frame is in flight become the next frame. One frame at a
 * time is in flight, so each frame names every number that was voided before it, and archive sees no unnamed gap.
 *
 * Driven from outside: {@link add} by requests, {@link target} by the stream's inspection, {@link tick} by a clock.
 */
export class Committer {
	readonly #options: CommitterOptions;
	readonly #builder: FrameBuilder;
	#stream: string | undefined;
	#queue: PendingEvent[] = [];
	#frame: FrameInFlight | undefined;
	#isBuilding = false;

	constructor(options: CommitterOptions) {
		this.#options = options;
		this.#builder = new FrameBuilder(options);
	}

	/** Sets the stream to publish to; undefined while it is missing or unsafe, or NATS is away. */
	target(stream: string | undefined): void {
		const isBack = this.#stream === undefined && stream !== undefined;
		this.#stream = stream;
		const frame = this.#frame;
		// Its senders have waited for the connection already, and wait no longer than 800 ms.
		if (isBack && frame?.repeatAtMs !== undefined) {
			frame.repeatAtMs = this.#options.now();
			this.tick();
		}
		this.#buildSoon();
	}

	/** The stream was looked at: archive has taken what comes before its first sequence. */
	inspected(ends: InspectedStream): void {
		this.#builder.inspected(ends);
	}

	add(event: PendingEvent): void {
		this.#queue.push(event);
		this.#buildSoon();
	}

	/** Call it a few times a second. It answers senders who waited long enough, and repeats or gives up the frame. */
	tick(): void {
		const now = this.#options.now();
		const isStuck =
			this.#stream === undefined ||
			(this.#frame && now - this.#frame.builtAtMs >= maxWaitStuckMs);
		const untilMs = now - (isStuck ? maxWaitStuckMs : maxWaitMs);
		const queued = expire(this.#queue, untilMs);
		this.#queue = queued.kept;
		settle(queued.expired, "refused");
		const frame = this.#frame;
		if (!frame) return;
		frame.unanswered = expire(frame.unanswered, untilMs).kept;
		if (frame.repeatAtMs === undefined || now < frame.repeatAtMs) return;
		const isStreamGone =
			this.#stream !== undefined && this.#stream !== frame.stream;
		const date = this.#options.date();
		const isLate =
			now - frame.oldestMs >= maxRepeatMs ||
			(date !== undefined && !areTimely(frame.events, date));
		if (isStreamGone || isLate) this.#finish(frame, "unknown");
		else if (this.#stream !== undefined && date !== undefined)
			void this.#publish(frame);
	}

	/** Waits for the rest of the event loop's turn, so that a frame holds all requests that one turn reads. */
	#buildSoon(): void {
		if (this.#isBuilding || this.#frame) return;
		this.#isBuilding = true;
		this.#options.defer(() => {
			this.#isBuilding = false;
			this.#build();
		});
	}

	#build(): void {
		if (this.#frame || !this.#queue.length || this.#stream === undefined)
			return;
		const date = this.#options.date();
		if (date === undefined || !this.#keepTimely(date)) return;
		const { frame, events, rest } = this.#builder.build(
			this.#stream,
			this.#queue,
		);
		this.#queue = rest;
		this.#frame = {
			...frame,
			publishes: 0,
			events,
			unanswered: events,
			oldestMs: events.reduce(
				(oldest, event) => Math.min(oldest, event.waitingSinceMs),
				Number.POSITIVE_INFINITY,
			),
			builtAtMs: this.#options.now(),
			builtDateMs: date,
			repeatAtMs: undefined,
		};
		void this.#publish(this.#frame);
	}

	/** Refuses the waiting events that must not be published any more; false when none is left. */
	#keepTimely(date: number): boolean {
		if (areTimely(this.#queue, date)) return true;
		const events = Map.groupBy(this.#queue, ({ receivedAtMs }) =>
			isTimely(receivedAtMs, date),
		);
		const refused = events.get(false)!;
		this.#queue = events.get(true) ?? [];
		answerUnavailable(refused);
		settle(refused, "refused");
		return this.#queue.length > 0;
	}

	async #publish(frame: FrameInFlight): Promise<void> {
		frame.repeatAtMs = undefined;
		frame.publishes++;
		const outcome = await this.#options.publish(frame);
		if (outcome === "unknown")
			frame.repeatAtMs = this.#options.now() + repeatDelayMs;
		else this.#finish(frame, outcome);
	}

	#finish(frame: FrameInFlight, outcome: PublishOutcome): void {
		this.#frame = undefined;
		// If a frame was published again, the client may still be sending the first publish.
		if (outcome === "stored" && frame.publishes === 1)
			this.#builder.reuse(frame.data);
		const { events, unanswered } = frame;
		const bytes = frame.data.length;
		if (outcome === "stored") {
			this.#builder.stored(frame.sequence!, frame.builtDateMs);
			this.#options.onStored?.(events);
		} else this.#builder.voided();
		// The next frame is built before the answers. The NATS client writes it in a microtask, so it goes out after them.
		this.#build();
		if (outcome === "stored")
			for (const event of unanswered) event.answerStored();
		else answerUnavailable(unanswered);
		settle(events, outcome, frame);
		this.#options.onFrame?.({
			outcome,
			events: events.length,
			bytes,
			tookMs: this.#options.now() - frame.builtAtMs,
		});
	}
}

function areTimely(events: readonly PendingEvent[], date: number): boolean {
	return events.every(({ receivedAtMs }) => isTimely(receivedAtMs, date));
}

/** Answers the senders who have waited since this instant or longer. */
function expire(
	events: readonly PendingEvent[],
	untilMs: number,
): { expired: PendingEvent[]; kept: PendingEvent[] } {
	const expired: PendingEvent[] = [];
	const kept: PendingEvent[] = [];
	for (const event of events)
		(event.waitingSinceMs <= untilMs ? expired : kept).push(event);
	answerUnavailable(expired);
	return { expired, kept };
}

function answerUnavailable(events: readonly PendingEvent[]): void {
	for (const event of events) event.answerUnavailable();
}

function settle(
	events: readonly PendingEvent[],
	outcome: PublishOutcome,
	frame?: OutgoingFrame,
): void {
	for (const event of events) event.settle(outcome, frame);
}
