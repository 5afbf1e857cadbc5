import {
	type Consumer,
	type ConsumerConfig,
	type ConsumerMessages,
	JetStreamError,
	jetstream,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { maxFrameBytes } from "../../../contracts/nats.ts";

const fetchBytes = maxFrameBytes + 64 * 1024;
const fetchExpiresMs = 10_000;

/** Reads a stream's frames by an ordered consumer of its own, beside archiving. */
export class FrameReader {
	readonly #consumer: Consumer;
	#batch: ConsumerMessages | undefined;
	#isClosed = false;

	private constructor(consumer: Consumer) {
		this.#consumer = consumer;
	}

	static async open(
		connection: NatsConnection,
		stream: string,
		start: Pick<ConsumerConfig, "deliver_policy" | "opt_start_seq">,
	): Promise<FrameReader> {
		const { consumers } = jetstream(connection);
		return new FrameReader(
			await consumers.get(stream, start as { opt_start_seq: number }),
		);
	}

	/** Calls `onFrame` with each frame until it returns false or the reader is closed. Throws NATS's errors. */
	async run(
		onFrame: (
			sequence: number,
			bytes: Uint8Array,
		) => boolean | Promise<boolean>,
	): Promise<void> {
		while (!this.#isClosed) {
			// As archiving reads: consume() stalls where its limits meet.
			this.#batch = await this.#consumer.fetch({
				max_bytes: fetchBytes,
				expires: fetchExpiresMs,
			});
			try {
				for await (const message of this.#batch)
					if (this.#isClosed || !(await onFrame(message.seq, message.data)))
						return;
			} catch (error) {
				if (!isEndOfBatch(error)) throw error;
			}
		}
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		this.#batch?.stop();
		await this.#consumer.delete().catch(() => undefined);
	}
}

/** See ingest/archive/read/frame-queue.ts: the client throws the normal ends of a batch (ADR-13). */
function isEndOfBatch(error: unknown): boolean {
	return (
		error instanceof JetStreamError &&
		/^(batch completed|message size exceeds maxbytes)$/i.test(error.message)
	);
}
