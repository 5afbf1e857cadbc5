import {
	type Consumer,
	type ConsumerConfig,
	type ConsumerMessages,
	JetStreamError,
	type JsMsg,
	jetstream,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
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

	/** @param start where in the stream. */
	static async open(
		connection: NatsConnection,
		stream: string,
		start: Pick<ConsumerConfig, "deliver_policy" | "opt_start_seq">,
	): Promise<FrameBatches> {
		const { consumers } = jetstream(connection);
		return new FrameBatches(
			await consumers.get(stream, start as { opt_start_seq: number }),
		);
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

	/** Calls `onFrame` with each frame until it returns false or the reader is closed. Throws as {@link read} does. */
	async run(
		onFrame: (
			sequence: number,
			bytes: Uint8Array,
		) => boolean | Promise<boolean>,
	): Promise<void> {
		const take = ({ seq, data }: JsMsg) => onFrame(seq, data);
		while (!this.#isClosed && (await this.read(take)));
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
