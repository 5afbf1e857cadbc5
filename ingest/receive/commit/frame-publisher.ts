import {
	JetStreamApiError,
	type JetStreamClient,
	jetstream,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { framesSubject } from "../../../contracts/nats.ts";
import type { Logger } from "../../../service/log.ts";
import { frameId } from "../../wire/frame.ts";
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
	readonly #awaited = new Set<(outcome: PublishOutcome) => void>();

	constructor(connection: NatsConnection, shard: number, log: Logger) {
		this.#jetstream = jetstream(connection);
		this.#subject = framesSubject(shard);
		this.#log = log;
	}

	/** The acknowledgements that are awaited won't come: their outcome is unknown from now on. */
	connectionLost(): void {
		for (const resolve of this.#awaited) resolve("unknown");
		this.#awaited.clear();
	}

	/** Never rejects. */
	publish(frame: OutgoingFrame): Promise<PublishOutcome> {
		// Not Promise.race: a promise that lives as long as the connection would keep something of every race.
		return new Promise((resolve) => {
			this.#awaited.add(resolve);
			void this.#try(frame).then((outcome) => {
				this.#awaited.delete(resolve);
				resolve(outcome);
			});
		});
	}

	async #try(frame: OutgoingFrame): Promise<PublishOutcome> {
		const { stream, process, number } = frame;
		try {
			await this.#jetstream.publish(this.#subject, frame.data, {
				msgID: frameId(process, number),
				expect: { streamName: stream },
				timeout: ackTimeoutMs,
			});
			return "stored";
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
