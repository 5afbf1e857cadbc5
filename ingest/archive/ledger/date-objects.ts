export interface IndexedObject {
	stream: string;
	/** First sequence of the object's cut. */
	first: number;
	rows: number;
}

/** The objects of one stream: for each, how far `first` is from the one before, and `rows`, as LEB128 numbers. */
interface Run {
	bytes: Uint8Array;
	length: number;
	/** `first` of the latest object. */
	last: number;
}

/**
 * The objects of one source and date, each stream's in the order of its cuts. A month of busy sources is millions of
 * objects, so one takes about five bytes.
 */
export class DateObjects implements Iterable<IndexedObject> {
	readonly #runs = new Map<string, Run>();
	#count = 0;
	#rows = 0;

	static of(objects: Iterable<IndexedObject>): DateObjects {
		const all = new DateObjects();
		for (const object of objects) all.add(object);
		return all;
	}

	/** Restores what {@link packed} returned. */
	static unpacked(runs: Iterable<[stream: string, packed: string]>) {
		const all = new DateObjects();
		for (const [stream, packed] of runs) {
			const bytes = Buffer.from(packed, "base64");
			const run = { bytes, length: bytes.length, last: 0 };
			all.#runs.set(stream, run);
			for (const { first, rows } of objectsOf(stream, run)) {
				run.last = first;
				all.#count++;
				all.#rows += rows;
			}
		}
		return all;
	}

	get count(): number {
		return this.#count;
	}

	/** Of all objects. */
	get rows(): number {
		return this.#rows;
	}

	/** `first` must be higher than that of the stream's object before. */
	add({ stream, first, rows }: IndexedObject): void {
		let run = this.#runs.get(stream);
		if (!run) {
			run = { bytes: new Uint8Array(16), length: 0, last: 0 };
			this.#runs.set(stream, run);
		}
		append(run, first - run.last);
		append(run, rows);
		run.last = first;
		this.#count++;
		this.#rows += rows;
	}

	/** By stream: `first` of the newest object. */
	*newest(): Generator<[stream: string, first: number]> {
		for (const [stream, { last }] of this.#runs) yield [stream, last];
	}

	*[Symbol.iterator](): Generator<IndexedObject> {
		for (const [stream, run] of this.#runs) yield* objectsOf(stream, run);
	}

	/** By stream, as text. */
	*packed(): Generator<[stream: string, packed: string]> {
		for (const [stream, { bytes, length }] of this.#runs)
			yield [
				stream,
				Buffer.from(bytes.buffer, bytes.byteOffset, length).toString("base64"),
			];
	}
}

/** The longest number: 2⁵³ − 1 in groups of seven bits. */
const maxNumberBytes = 8;

function append(run: Run, number: number): void {
	if (run.length + maxNumberBytes > run.bytes.length) {
		const larger = new Uint8Array(2 * run.bytes.length + maxNumberBytes);
		larger.set(run.bytes.subarray(0, run.length));
		run.bytes = larger;
	}
	let left = number;
	// Division, since shifts would cut the number down to 32 bits.
	for (; left >= 0x80; left = Math.floor(left / 0x80))
		run.bytes[run.length++] = (left % 0x80) | 0x80;
	run.bytes[run.length++] = left;
}

function* objectsOf(stream: string, { bytes, length }: Run) {
	let at = 0;
	const next = () => {
		let [number, scale] = [0, 1];
		for (;;) {
			const byte = bytes[at++]!;
			number += (byte & 0x7f) * scale;
			if (byte < 0x80) return number;
			scale *= 0x80;
		}
	};
	let first = 0;
	while (at < length) {
		first += next();
		yield { stream, first, rows: next() };
	}
}
