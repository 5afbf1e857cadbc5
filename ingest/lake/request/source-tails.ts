import { jetstream } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { oneAtATime } from "../../../packages/fair/fair-limit.ts";
import { cutSize, FrameQueue } from "../../archive/read/frame-queue.ts";
import { WakeSignal } from "../../archive/read/wake-signal.ts";

const maxBytes = 8 * 1024 * 1024;
const pollMs = 1_000;

/** Sequences of a stream, from..to, that aren't archived yet. */
export interface SequenceRange {
	stream: string;
	from: number;
	to: number;
}

/**
 * Where each source's events end in a shard's stream. Reading the stream takes a tenth of the time of archiving it, so a
 * source can learn that it needn't wait for another one's flood. All requests share one reading, of each frame once.
 */
export class SourceTails {
	readonly #connection: NatsConnection;
	readonly #lastOf = new Map<string, number>();
	#stream: string | undefined;
	#through = 0;
	readonly #inTurn = oneAtATime();

	constructor(connection: NatsConnection) {
		this.#connection = connection;
	}

	/**
	 * The sequence of the source's last frame among these, 0 if it has none. Undefined if they can't be read, as when they
	 * are archived meanwhile. Throws the signal's reason.
	 */
	async lastOf(
		sourceKey: string,
		waiting: SequenceRange,
		signal: AbortSignal,
	): Promise<number | undefined> {
		const isRead = await this.#inTurn(() => this.#read(waiting, signal));
		signal.throwIfAborted();
		if (!isRead) return undefined;
		const last = this.#lastOf.get(sourceKey) ?? 0;
		return last >= waiting.from ? last : 0;
	}

	/** Reads on from where the last reading ended. Returns whether it came to the end. */
	async #read(
		{ stream, from, to }: SequenceRange,
		signal: AbortSignal,
	): Promise<boolean> {
		const known = stream === this.#stream ? this.#through : 0;
		// The frames before are archived, or another stream's.
		for (const [sourceKey, last] of this.#lastOf)
			if (known === 0 || last < from) this.#lastOf.delete(sourceKey);
		this.#stream = stream;
		this.#through = Math.max(known, from - 1);
		if (this.#through >= to || signal.aborted) return !signal.aborted;
		const wakeSignal = new WakeSignal();
		let queue: FrameQueue | undefined;
		try {
			queue = await FrameQueue.open(jetstream(this.#connection), {
				stream,
				from: this.#through + 1,
				limits: cutSize(maxBytes, 1),
				onChange: () => wakeSignal.wake(),
			});
			while (this.#through < to && !signal.aborted) {
				const frames = queue.take(queue.uncut.lastSequence);
				if (frames.length === 0) {
					queue.throwIfFailed();
					await wakeSignal.wait(pollMs);
				}
				for (const { sequence, frame } of frames) {
					for (const { sourceKey } of frame.events)
						this.#lastOf.set(sourceKey, sequence);
					this.#through = sequence;
				}
				queue.free(frames);
			}
			return !signal.aborted;
		} catch {
			// Archiving meets what is wrong with these frames, too, and says so.
			return false;
		} finally {
			await queue?.close();
		}
	}
}
