import type { EventFields } from "./frame-event.ts";

/** At this size the cache is cleared. Full, it takes about 5 MB. */
const mostFields = 16_384;

/**
 * The fields of events without headers, violations and a key, one object for all events that say the same. Their texts took most of the memory
 * that the events of a cut with many Sources have in V8's heap.
 */
export class SharedFields {
	readonly #byBytes = new Map<string, EventFields>();
	/** Where the latest fields stand in a frame. The next event often has the same. */
	#latest:
		| { frame: Buffer; start: number; length: number; fields: EventFields }
		| undefined;

	/** The fields that these bytes of a frame say. `read` reads them. */
	get(
		frame: Buffer,
		start: number,
		end: number,
		read: () => EventFields,
	): EventFields {
		const latest = this.#latest;
		const length = end - start;
		if (
			latest?.length === length &&
			isSame(latest.frame, latest.start, frame, start, length)
		)
			return latest.fields;
		const bytes = frame.toString("latin1", start, end);
		let fields = this.#byBytes.get(bytes);
		if (!fields) {
			fields = read();
			if (this.#byBytes.size >= mostFields) this.#byBytes.clear();
			this.#byBytes.set(bytes, fields);
		}
		this.#latest = { frame, start, length, fields };
		return fields;
	}
}

/** A loop is faster than Buffer.compare for so few bytes. */
function isSame(
	a: Buffer,
	aStart: number,
	b: Buffer,
	bStart: number,
	length: number,
): boolean {
	for (let index = 0; index < length; index++)
		if (a[aStart + index] !== b[bStart + index]) return false;
	return true;
}
