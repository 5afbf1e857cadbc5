/** All there is in the simulation, as one plain value: NATS, the bucket, and archivers with what they remember. */
export interface World {
	stream: ModelStream;
	/** An earlier state of the stream, kept aside. */
	copy?: ModelStream;
	/** How many frames of the script were stored so far. */
	published: number;
	/** Sequence by stream. */
	objectsDone: Record<string, number>;
	/** The bucket: cut records by stream and first sequence, as {@link Interned}; events of each object by its key. */
	cuts: Record<string, Record<number, Interned>>;
	objects: Record<string, string>;
	archivers: ModelArchiver[];
	crashesLeft: number;
	faultsLeft: number;
	/** Events that went with the stream that held them. */
	lost: string;
	/** Codes of the alarms raised. */
	alarms: string[];
	/** How far the deletion of source B is; absent when there is none in the scenario. */
	deletion?: Deletion;
	/** Events that NATS or a person took from the stream before they were archived. */
	gone: string;
}

export interface Deletion {
	at: "wanted" | "tombstone" | "flush" | "delete" | "done";
	/** What must be archived before the objects are deleted: the stream's last sequence when it was asked. */
	through?: number;
	/** Events of B in the stream by then. */
	events?: string;
}

export interface ModelStream {
	name: string;
	/** Sequence of the first frame. */
	first: number;
	/** Null for one that is lost. */
	frames: (ModelFrame | null)[];
}

/** Which frame of the script, and when the stream took it. */
export type ModelFrame = [script: number, timeMs: number];

/** A frame that receive sends. */
export interface ScriptFrame {
	process: string;
	number: number;
	/** Each event is a letter; a capital one belongs to a second source, and q and Q are in quarantine. */
	events: string;
	/** When the stream takes it, milliseconds after the start; by default a second after the one before. */
	atMs?: number;
	/** A forgetful NATS may lose it, as long as it is the stream's last. */
	mayBeLost?: true;
}

export function isQuarantined(event: string): boolean {
	return event.toLowerCase() === "q";
}

/** What an archiver does next, and what it remembers for it. */
export interface ModelArchiver {
	at:
		| "open"
		| "list cuts"
		| "find position"
		| "read ahead"
		| "decide"
		| "decide a loss"
		| "read the cut"
		| "write objects"
		| "publish objects-done"
		| "purge"
		| "stopped";
	stream?: string;
	firstSequence?: number;
	objectsDone?: number;
	head?: Interned;
	inherited?: Interned;
	/** Sequence of the first frame in memory, or of the next to read. */
	from?: number;
	frames?: ModelFrame[];
	/** Its consumer went with the stream's store: it has what it has read, and can't read on. */
	isReaderGone?: true;
	cut?: Interned;
	/** It knows that source B is deleted. */
	knowsDeletion?: true;
	/** Objects of the cut that are written. */
	written?: number;
	/** Told apart from its earlier lives only by the mutation that gives objects random names. */
	life?: number;
}

export function purged(stream: ModelStream, from: number): ModelStream {
	const count = from - stream.first;
	return count > 0
		? { ...stream, first: from, frames: stream.frames.slice(count) }
		: stream;
}

/** The number of a large value that occurs often. It keeps a world short as text. */
export type Interned = number;

/** Gives equal values (as JSON) equal numbers. */
export class Interner<Value> {
	readonly #values: Value[] = [];
	readonly #numbers = new Map<string, Interned>();

	intern(value: Value): Interned {
		const text = JSON.stringify(value);
		const known = this.#numbers.get(text);
		if (known !== undefined) return known;
		this.#numbers.set(text, this.#values.length);
		return this.#values.push(value) - 1;
	}

	value(number: Interned): Value {
		return this.#values[number]!;
	}
}
