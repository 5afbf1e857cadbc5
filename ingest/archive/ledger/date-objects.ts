import { setImmediate } from "node:timers/promises";

/** Where a cut has put its events of one source and date. */
export interface CutObject {
	stream: string;
	/** First sequence of the object's cut. */
	first: number;
}

export interface IndexedObject extends CutObject {
	rows: number;
}

/** The objects of one stream: for each, how far `first` is from the one before, and `rows`, as LEB128 numbers. */
interface Run {
	bytes: Uint8Array;
	length: number;
	/** `first` of the latest object. */
	last: number;
}

/** A millisecond or two, in which the process does nothing else. */
const objectsAtOnce = 8_192;

/**
 * The objects of one source and date, each stream's in the order of its cuts. A day of a busy shard is millions of
 * objects, so one takes about five bytes, and those that a compaction replaced take none: see {@link replace}.
 */
export class DateObjects implements Iterable<IndexedObject> {
	readonly #runs = new Map<string, Run>();
	#held = 0;
	#rows = 0;
	#replaced: number | undefined;

	static of(objects: Iterable<IndexedObject>): DateObjects {
		const all = new DateObjects();
		for (const object of objects) all.add(object);
		return all;
	}

	/** Restores what {@link packed} returned. */
	static unpacked(
		runs: Iterable<[stream: string, packed: string]>,
		replaced?: number,
	): DateObjects {
		const all = new DateObjects();
		all.#replaced = replaced;
		for (const [stream, packed] of runs) {
			const bytes = Buffer.from(packed, "base64");
			const run = { bytes, length: bytes.length, last: 0 };
			all.#runs.set(stream, run);
			for (const at = new RunReader(run); at.next(); ) {
				run.last = at.first;
				all.#held++;
				all.#rows += at.rows;
			}
		}
		return all;
	}

	/** How many objects cuts have made of the date's events. */
	get count(): number {
		return this.#held + (this.#replaced ?? 0);
	}

	/** Of all objects. */
	get rows(): number {
		return this.#rows;
	}

	/** How many of the objects are held no more, because others stand for them. Undefined before {@link replace}. */
	get replaced(): number | undefined {
		return this.#replaced;
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
		this.#held++;
		this.#rows += rows;
	}

	/**
	 * The same without those that a compaction replaced. For each of its outputs, the latest input of each stream stands for all
	 * of that stream, with their rows: so the sum of rows, the newest object and the place of the output among the others stay,
	 * and a reader who knows the compaction's record leaves it out as he did its peers. Undefined if not all inputs are held,
	 * or if they don't have the rows of the outputs. It takes several turns of the event loop, and what is added meanwhile may be left out.
	 */
	async replace(
		outputs: readonly ReplacingOutput[],
	): Promise<DateObjects | undefined> {
		const inputsOf = await inputsByStream(outputs);
		const left = new DateObjects();
		const rowsOf = outputs.map(() => 0);
		let walked = 0;
		let found = 0;
		let standing = 0;
		for (const [stream, run] of this.#runs) {
			const replaced = inputsOf.get(stream) ?? [];
			const latestOf: ReplacedObject[] = [];
			for (const each of replaced) latestOf[each.output] = each;
			const sums = outputs.map(() => 0);
			let next = 0;
			for (const at = new RunReader(run); at.next(); ) {
				if (++walked % objectsAtOnce === 0) await setImmediate();
				const { first, rows } = at;
				const input = replaced[next];
				if (first !== input?.first) {
					left.add({ stream, first, rows });
					continue;
				}
				next++;
				const { output } = input;
				rowsOf[output]! += rows;
				sums[output]! += rows;
				if (input !== latestOf[output]) continue;
				left.add({ stream, first, rows: sums[output]! });
				standing++;
			}
			found += next;
		}
		const inputs = outputs.reduce((sum, { inputs }) => sum + inputs.length, 0);
		if (found !== inputs) return undefined;
		if (outputs.some(({ rows }, output) => rows !== rowsOf[output]))
			return undefined;
		left.#replaced = found - standing;
		return left;
	}

	/** The same without one object; undefined if it isn't held. */
	without({ stream, first }: CutObject): DateObjects | undefined {
		if (!this.#holds(stream, first)) return undefined;
		const left = new DateObjects();
		left.#replaced = this.#replaced;
		for (const object of this)
			if (object.stream !== stream || object.first !== first) left.add(object);
		return left;
	}

	#holds(stream: string, first: number): boolean {
		const run = this.#runs.get(stream);
		if (!run || first > run.last) return false;
		for (const at = new RunReader(run); at.next() && at.first <= first; )
			if (at.first === first) return true;
		return false;
	}

	/** By stream: `first` of the newest object. */
	*newest(): Generator<[stream: string, first: number]> {
		for (const [stream, { last }] of this.#runs) yield [stream, last];
	}

	*[Symbol.iterator](): Generator<IndexedObject> {
		for (const [stream, run] of this.#runs)
			for (const at = new RunReader(run); at.next(); )
				yield { stream, first: at.first, rows: at.rows };
	}

	/** By stream. What is added later doesn't change them. */
	*runs(): Generator<[stream: string, run: Uint8Array]> {
		for (const [stream, { bytes, length }] of this.#runs)
			yield [stream, bytes.subarray(0, length)];
	}

	/** By stream, as text. */
	*packed(): Generator<[stream: string, packed: string]> {
		for (const [stream, run] of this.runs()) yield [stream, packedRun(run)];
	}
}

/** An object that a compaction wrote, and the objects whose events it holds. */
export interface ReplacingOutput {
	rows: number;
	inputs: readonly CutObject[];
}

export function packedRun(run: Uint8Array): string {
	const { buffer, byteOffset, byteLength } = run;
	return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}

/** Which output replaces an object of a stream. */
interface ReplacedObject {
	first: number;
	output: number;
}

/** By stream, in the order of its cuts, as a run has them: maps of so many objects took 50 ms. */
async function inputsByStream(outputs: readonly ReplacingOutput[]) {
	const inputsOf = new Map<string, ReplacedObject[]>();
	let own: ReplacedObject[] = [];
	let ofStream: string | undefined;
	let read = 0;
	for (const [output, { inputs }] of outputs.entries())
		for (const { stream, first } of inputs) {
			if (++read % objectsAtOnce === 0) await setImmediate();
			// Nearly all are of the stream of the one before.
			if (stream !== ofStream) {
				own = inputsOf.get(stream) ?? [];
				inputsOf.set(stream, own);
				ofStream = stream;
			}
			own.push({ first, output });
		}
	for (const inputs of inputsOf.values()) {
		await setImmediate();
		inputs.sort((a, b) => a.first - b.first);
	}
	return inputsOf;
}

/** The longest number: 2⁵³ − 1 in groups of seven bits. */
const maxNumberBytes = 8;

function append(run: Run, number: number): void {
	if (run.length + maxNumberBytes > run.bytes.length) {
		// By a quarter, since most of the ledger's memory is these.
		const larger = new Uint8Array(
			Math.ceil(1.25 * run.bytes.length) + maxNumberBytes,
		);
		larger.set(run.bytes.subarray(0, run.length));
		run.bytes = larger;
	}
	let left = number;
	// Division, since shifts would cut the number down to 32 bits.
	for (; left >= 0x80; left = Math.floor(left / 0x80))
		run.bytes[run.length++] = (left % 0x80) | 0x80;
	run.bytes[run.length++] = left;
}

/** Goes through a run without making an object of each. */
class RunReader {
	first = 0;
	rows = 0;
	readonly #run: Readonly<Run>;
	#at = 0;

	constructor(run: Readonly<Run>) {
		this.#run = run;
	}

	/** False at the end. */
	next(): boolean {
		if (this.#at >= this.#run.length) return false;
		this.first += this.#number();
		this.rows = this.#number();
		return true;
	}

	#number(): number {
		const { bytes } = this.#run;
		let [number, scale] = [0, 1];
		for (;;) {
			const byte = bytes[this.#at++]!;
			number += (byte & 0x7f) * scale;
			if (byte < 0x80) return number;
			scale *= 0x80;
		}
	}
}
