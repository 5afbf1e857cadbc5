/** One message of NATS's client protocol (docs.nats.io, "NATS Protocol"), with its bytes as they came. */
export interface NatsMessage {
	/** `PUB`, `MSG`, `INFO`, …, upper case. */
	verb: string;
	/** What follows the verb in the control line. */
	words: string[];
	/** Headers and payload; empty for messages without. */
	payload: Buffer;
	bytes: Buffer;
}

const withPayload = new Set(["PUB", "HPUB", "MSG", "HMSG"]);
const lineEnd = Buffer.from("\r\n");

/** Takes one direction of a connection apart. */
export class NatsMessages {
	#rest: Buffer = Buffer.alloc(0);

	/** The messages that these bytes complete. */
	*read(chunk: Buffer): Generator<NatsMessage> {
		this.#rest = Buffer.concat([this.#rest, chunk]);
		for (;;) {
			const end = this.#rest.indexOf(lineEnd);
			if (end === -1) return;
			const line = this.#rest.toString("latin1", 0, end);
			const [verb = "", ...words] = line.split(/\s+/);
			let length = end + lineEnd.length;
			const start = length;
			const hasPayload = withPayload.has(verb.toUpperCase());
			if (hasPayload) length += Number(words.at(-1)) + lineEnd.length;
			if (this.#rest.length < length) return;
			const bytes = this.#rest.subarray(0, length);
			this.#rest = this.#rest.subarray(length);
			yield {
				verb: verb.toUpperCase(),
				words,
				payload: bytes.subarray(
					start,
					hasPayload ? length - lineEnd.length : start,
				),
				bytes,
			};
		}
	}
}
