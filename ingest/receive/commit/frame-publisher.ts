import {
	JetStreamApiError,
	type JetStreamClient,
	jetstream,
} from "@nats-io/jetstream";
import {
	headers,
	type MsgHdrs,
	type NatsConnection,
} from "@nats-io/transport-node";
import { framesSubject } from "../../../packages/contracts/nats.ts";
import type { Logger } from "../../../packages/service/log.ts";
import { frameId, traceHeader } from "../../wire/frame.ts";
import type { OutgoingFrame } from "./frame-builder.ts";

/**
 * - stored: the server acknowledged the frame, as new or as a repeat.
 * - refused: the server refused the frame; it isn't in the stream.
 * - unknown: anything else. The frame may be in the stream.
 */
export type PublishOutcome = "stored" | "refused" | "unknown";

/** How long one publish waits for its acknowledgement. */
const ackTimeoutMs = 5_000;

/**
 * nats-server errors after which the same publish may succeed: 10008 JSClusterNotAvailErr, 10009 JSClusterNotLeaderErr,
 * 10158 JSStreamDuplicateMessageConflict (an earlier publish of this frame is still being stored).
 */
const retryableCodes = new Set([10008, 10009, 10158]);

/** Publishes the frames of one shard. */
export class FramePublisher {
	readonly #jetstream: JetStreamClient;
	readonly #subject: string;
	readonly #log: Logger;
	readonly #onTrouble: () => void;
	readonly #awaited = new Set<(outcome: PublishOutcome) => void>();

	/** @param onTrouble called when a frame was not stored: the stream may have been recreated or changed. */
	constructor(
		connection: NatsConnection,
		shard: number,
		log: Logger,
		onTrouble: () => void,
	) {
		this.#jetstream = jetstream(connection);
		this.#subject = framesSubject(shard);
		this.#log = log;
		this.#onTrouble = onTrouble;
	}

	/** Acknowledgements that are still awaited won't come: their outcome is unknown. */
	connectionLost(): void {
		for (const resolve of this.#awaited) resolve("unknown");
		this.#awaited.clear();
	}

	/** Tries once to publish. Never rejects. The frame's bytes must not change until it settles. */
	async publish(frame: OutgoingFrame): Promise<PublishOutcome> {
		// Not Promise.race: a promise that lives as long as the connection would keep a trace of every race.
		const outcome = await new Promise<PublishOutcome>((resolve) => {
			this.#awaited.add(resolve);
			void this.#try(frame).then((outcome) => {
				this.#awaited.delete(resolve);
				resolve(outcome);
			});
		});
		if (outcome !== "stored") this.#onTrouble();
		return outcome;
	}

	async #try(frame: OutgoingFrame): Promise<PublishOutcome> {
		const { stream, process, number, traces } = frame;
		try {
			await this.#jetstream.publish(this.#subject, frame.data, {
				msgID: frameId(process, number),
				expect: { streamName: stream },
				timeout: ackTimeoutMs,
				...(traces && { headers: traceHeaders(traces) }),
			});
			return "stored";
		} catch (error) {
			const isRefused =
				error instanceof JetStreamApiError && !retryableCodes.has(error.code);
			this.#log.warn(
				{ err: error, stream, process, number },
				isRefused
					? "the stream refused a frame; its senders are told to send again"
					: "the outcome of a frame is unknown; publishing it again",
			);
			return isRefused ? "refused" : "unknown";
		}
	}
}

function traceHeaders(traces: readonly string[]): MsgHdrs {
	const made = headers();
	for (const trace of traces) made.append(traceHeader, trace);
	return made;
}
