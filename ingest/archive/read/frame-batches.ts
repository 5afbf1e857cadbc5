import {
	type Consumer,
	type ConsumerMessages,
	JetStreamError,
	type JsMsg,
} from "@nats-io/jetstream";
import { maxFrameBytes } from "../../../packages/contracts/nats.ts";

/** Of one batch. A frame of the largest size must fit with its headers, or JetStream never sends it. */
const batchBytes = maxFrameBytes + 64 * 1024;
const expiresMs = 10_000;

/** The next message doesn't fit into a batch that is empty. */
export class MessageTooLarge extends Error {
	override name = "MessageTooLarge";
}

/** Reads a stream's frames, batch by batch, by an ordered consumer of its own. */
export class FrameBatches {
	readonly #consumer: Consumer;
	#batch: ConsumerMessages | undefined;
	#isClosed = false;

	constructor(consumer: Consumer) {
		this.#consumer = consumer;
	}

	get isClosed(): boolean {
		return this.#isClosed;
	}

	/**
	 * Calls `onMessage` with each message of the next batch, one after another, until it returns false or the reader is closed.
	 * Returns false then. Throws {@link MessageTooLarge}, and NATS's errors.
	 */
	async read(
		onMessage: (message: JsMsg) => boolean | Promise<boolean>,
	): Promise<boolean> {
		// Not consume(): it limits messages or bytes, and stalls for seconds where the limits meet.
		this.#batch = await this.#consumer.fetch({
			max_bytes: batchBytes,
			expires: expiresMs,
		});
		let count = 0;
		try {
			for await (const message of this.#batch) {
				count++;
				if (this.#isClosed || !(await onMessage(message))) return false;
			}
		} catch (error) {
			if (!isEndOfBatch(error)) throw error;
			if (count === 0)
				throw new MessageTooLarge("the message is larger than a frame can be");
		}
		return !this.#isClosed;
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		this.#batch?.stop();
		// Otherwise, the server removes an idle consumer after five minutes.
		await this.#consumer.delete().catch(() => undefined);
	}
}

/**
 * Whether the batch ended normally: it is complete, or the next message exceeds the rest of its bytes (ADR-13, status
 * 409). The client throws these ends as errors.
 */
function isEndOfBatch(error: unknown): boolean {
	return (
		error instanceof JetStreamError &&
		/^(batch completed|message size exceeds maxbytes)$/i.test(error.message)
	);
}
