import { type ConsumerConfig, jetstream } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { FrameBatches } from "../../archive/read/frame-batches.ts";

/** Reads a stream's frames by an ordered consumer of its own, beside archiving. */
export class FrameReader {
	readonly #batches: FrameBatches;

	private constructor(batches: FrameBatches) {
		this.#batches = batches;
	}

	static async open(
		connection: NatsConnection,
		stream: string,
		start: Pick<ConsumerConfig, "deliver_policy" | "opt_start_seq">,
	): Promise<FrameReader> {
		const { consumers } = jetstream(connection);
		const consumer = await consumers.get(
			stream,
			start as { opt_start_seq: number },
		);
		return new FrameReader(new FrameBatches(consumer));
	}

	/** Calls `onFrame` with each frame until it returns false or the reader is closed. Throws NATS's errors. */
	async run(
		onFrame: (
			sequence: number,
			bytes: Uint8Array,
		) => boolean | Promise<boolean>,
	): Promise<void> {
		while (
			!this.#batches.isClosed &&
			(await this.#batches.read(({ seq, data }) => onFrame(seq, data)))
		);
	}

	close(): Promise<void> {
		return this.#batches.close();
	}
}
