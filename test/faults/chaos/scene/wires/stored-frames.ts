import { decodeFrame } from "../../../../../ingest/wire/frame.ts";
import { eventIdText } from "../../../../../ingest/wire/frame-event.ts";
import type { NatsMessage } from "./nats-messages.ts";

/** A frame that NATS has acknowledged, whether or not receive has learned of it. */
export interface StoredFrame {
	stream: string;
	sequence: number;
	process: string;
	number: number;
	events: { id: string; sourceKey: string }[];
	/** By the data plane's clock, milliseconds since the epoch. */
	atMs: number;
	/** How often receive had been started by then. */
	life: number;
}

type SentFrame = Pick<StoredFrame, "process" | "number" | "events">;

/** What NATS has acknowledged of frames, as the wire says: so it is known what a lost stream held. */
export class StoredFrames {
	readonly all: StoredFrame[] = [];
	/** How often receive has been started. */
	life = 0;

	/** @param publish of a frame. */
	sent({ verb, words, payload }: NatsMessage): SentFrame {
		const headerBytes = verb === "HPUB" ? Number(words.at(-2)) : 0;
		const frame = decodeFrame(payload.subarray(headerBytes));
		const { process, number } = frame;
		const events = frame.events.map(({ id, sourceKey }) => ({
			id: eventIdText(id),
			sourceKey,
		}));
		return { process, number, events };
	}

	/** NATS has answered the publish. */
	answered(sent: SentFrame, answer: NatsMessage, atMs: number): void {
		const { verb, words, payload } = answer;
		const headerBytes = verb === "HMSG" ? Number(words.at(-2)) : 0;
		const text = payload.subarray(headerBytes).toString();
		// Nobody answers while there is no stream.
		if (text === "") return;
		const { stream, seq: sequence, duplicate, error } = JSON.parse(text);
		if (error) return;
		// NATS may have been killed between storing the frame and saying so. Then only the repeat is answered.
		const isKnown = ({ process, number }: SentFrame) =>
			process === sent.process && number === sent.number;
		if (duplicate && this.all.some(isKnown)) return;
		this.all.push({ ...sent, stream, sequence, atMs, life: this.life });
	}
}
