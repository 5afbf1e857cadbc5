import {
	JetStreamApiError,
	type JetStreamClient,
	jetstream,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { framesSubject } from "../../contracts/nats.ts";
import type { Logger } from "../../service/log.ts";
import { frameId } from "../frame.ts";
import type { OutgoingFrame, PublishOutcome } from "./committer.ts";

/** How long one publish waits for its acknowledgement. */
const ackTimeoutMs = 5_000;

/**
 * Error codes of nats-server after which the same publish may succeed: 10008 JSClusterNotAvailErr, 10009
 * JSClusterNotLeaderErr, 10158 JSStreamDuplicateMessageConflict (an earlier try of this frame is still being stored).
 */
const passing = new Set([10008, 10009, 10158]);

/** Publishes the frames of one shard, each try told apart as stored, refused or unknown. */
export class FramePublisher {
	readonly #jetstream: JetStreamClient;
	readonly #subject: string;
	readonly #log: Logger;
	#connection = Promise.withResolvers<"unknown">();

	constructor(connection: NatsConnection, shard: number, log: Logger) {
		this.#jetstream = jetstream(connection);
		this.#subject = framesSubject(shard);
		this.#log = log;
	}

	/** The acknowledgements that are awaited won't come: their outcome is unknown from now on. */
	connectionLost(): void {
		this.#connection.resolve("unknown");
		this.#connection = Promise.withResolvers();
	}

	/** Never rejects. */
	async publish(frame: OutgoingFrame): Promise<PublishOutcome> {
		const { stream, process, number } = frame;
		try {
			return await Promise.race([
				this.#connection.promise,
				this.#jetstream
					.publish(this.#subject, frame.data, {
						msgID: frameId(process, number),
						expect: { streamName: stream },
						timeout: ackTimeoutMs,
					})
					.then(() => "stored" as const),
			]);
		} catch (error) {
			const isRefused =
				error instanceof JetStreamApiError && !passing.has(error.code);
			this.#log.warn(
				{ err: error, stream, process, number },
				isRefused
					? "the stream refused a frame; its senders are told to send again"
					: "a frame's outcome is unknown; it is published again",
			);
			return isRefused ? "refused" : "unknown";
		}
	}
}
