import { randomBytes } from "node:crypto";
import type { NatsConnection } from "@nats-io/transport-node";
import type { Logger } from "../../../service/log.ts";
import {
	inspectShardStream,
	type ShardStream,
} from "../../wire/stream-inspection.ts";
import type { ReceiveMetrics } from "../metrics.ts";
import {
	Committer,
	type OutgoingFrame,
	type PublishOutcome,
} from "./committer.ts";
import { FramePublisher } from "./frame-publisher.ts";

/** Beyond this an event's date could be wrong (design §4). */
const maxClockDifferenceMs = 30_000;

/**
 * What waits in more bytes than this goes into several frames, one after the other: a sender's answer doesn't wait for
 * more to be written, and less is held twice. An event that is larger has a frame of its own.
 */
const usualFrameBytes = 2 * 1024 * 1024;

/** One shard as receive sees it: its committer, and whether its stream may be written to. */
export class Shard {
	readonly committer: Committer;
	readonly #connection: NatsConnection;
	readonly #number: number;
	readonly #log: Logger;
	readonly #publisher: FramePublisher;
	/** Counts the connections and looks, so that what an older look found doesn't count. */
	#generation = 0;
	#isInspecting = false;
	#unavailable: string | undefined = "its stream hasn't been looked at yet";

	constructor(
		connection: NatsConnection,
		number: number,
		metrics: ReceiveMetrics,
		log: Logger,
	) {
		this.#connection = connection;
		this.#number = number;
		this.#log = log;
		this.#publisher = new FramePublisher(connection, number, log);
		this.committer = new Committer({
			publish: (frame) => this.#publish(frame),
			newProcess: () => randomBytes(16).toString("hex"),
			defer: setImmediate,
			now: () => performance.now(),
			maxFrameBytes: usualFrameBytes,
			onFrame: (frame) => metrics.frame(frame),
		});
	}

	async #publish(frame: OutgoingFrame): Promise<PublishOutcome> {
		const outcome = await this.#publisher.publish(frame);
		// The stream may have been made anew, or changed.
		if (outcome !== "stored" && !this.#isInspecting) void this.inspect();
		return outcome;
	}

	/** Why no event of this shard can be stored now; undefined when they can. */
	get unavailable(): string | undefined {
		return this.#unavailable && `shard ${this.#number}: ${this.#unavailable}`;
	}

	/** Looks at the stream and its servers, and opens or closes the shard as they are. */
	async inspect(): Promise<void> {
		const generation = ++this.#generation;
		this.#isInspecting = true;
		let stream: ShardStream | undefined;
		let reason: string | undefined;
		try {
			stream = await inspectShardStream(this.#connection, this.#number);
			reason = reasonNotToUse(stream);
		} catch (error) {
			reason = `NATS doesn't answer (${String(error)})`;
		}
		if (generation !== this.#generation) return;
		this.#isInspecting = false;
		this.#set(reason, stream?.name);
	}

	connectionLost(): void {
		this.#generation++;
		this.#isInspecting = false;
		this.#set("the connection to NATS is lost");
		this.#publisher.connectionLost();
	}

	#set(reason: string | undefined, stream?: string): void {
		if (reason !== this.#unavailable) {
			this.#unavailable = reason;
			if (reason === undefined)
				this.#log.info({ shard: this.#number, stream }, "the shard is open");
			else this.#log.warn({ reason: this.unavailable }, "the shard is closed");
		}
		this.committer.target(reason === undefined ? stream : undefined);
	}
}

/** Why no event may be written to this stream now; undefined when it may. */
export function reasonNotToUse(
	stream: Pick<ShardStream, "faults" | "clockAheadMs"> | undefined,
): string | undefined {
	if (!stream) return "there is no stream for it yet; archive creates it";
	if (stream.faults.length > 0) return stream.faults.join("; ");
	// Not "greater than": a server that doesn't tell its time gives NaN.
	if (!(Math.abs(stream.clockAheadMs) <= maxClockDifferenceMs))
		return `this machine's clock is ${Math.round(stream.clockAheadMs / 1000)} s ahead of NATS's; set both by NTP`;
	return undefined;
}
