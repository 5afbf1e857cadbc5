/** One event of a text/event-stream. */
export interface ServerEvent {
	/** `message` unless the stream says another. */
	event: string;
	data: string;
	/** That of the last event that had one. */
	id: string | undefined;
}

/** A line of a server that is broken, or isn't Tidemill's, must not fill the memory. */
const maxLength = 16 * 1024 * 1024;

/** Reads a text/event-stream piece by piece (HTML Standard, "Interpreting an event stream"). */
export class EventStreamParser {
	#rest = "";
	#event = "";
	#data: string[] = [];
	#id: string | undefined;

	/** The events that are complete with this piece. Throws if a line has more than 16 MiB. */
	push(piece: string): ServerEvent[] {
		// A carriage return at the end may be half of a line's end.
		const text = this.#rest + piece;
		const lines = text.split(/\r\n|\n|\r(?!$)/);
		this.#rest = lines.pop()!;
		if (this.#rest.length > maxLength)
			throw new Error("the answer is not one of server-sent events");
		return lines.flatMap((line) => this.#take(line));
	}

	#take(line: string): ServerEvent[] {
		if (line === "") {
			const event = {
				event: this.#event || "message",
				data: this.#data.join("\n"),
				id: this.#id,
			};
			const isEmpty = this.#data.length === 0;
			this.#event = "";
			this.#data = [];
			return isEmpty ? [] : [event];
		}
		const colon = line.indexOf(":");
		const field = colon < 0 ? line : line.slice(0, colon);
		const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
		if (field === "event") this.#event = value;
		else if (field === "data") this.#data.push(value);
		else if (field === "id") this.#id = value;
		return [];
	}
}
