import {
	type LeftFrames,
	leftValue,
	maxLeftRanges,
	type NumberRange,
} from "../../wire/left-frames.ts";

/** Beyond this many, places are joined: then archive is told of more frames that it has. */
const maxPlaces = 1_000;

/** A number that is stored, and where. */
interface Place {
	number: number;
	sequence: number;
	atMs: number;
}

export interface InspectedStream {
	stream: string;
	firstSequence: number;
	lastSequence: number;
}

/**
 * Which numbers of one process id its stream holds, as far as receive knows. It remembers a place for each look at the stream, so
 * that a frame costs nothing but its number, and an archive that is away for days no memory.
 */
export class StoredNumbers {
	readonly stream: string;
	readonly process: string;
	/** The last one that archive has taken, with all before it. */
	#taken: Place | undefined;
	#last: Place | undefined;
	#firstMs: number | undefined;
	readonly #places: Place[] = [];
	/** The stream's last sequence at the latest look. */
	#seen = 0;
	/** Behind the last one that archive has taken. */
	#voided: number[] = [];

	constructor(stream: string, process: string) {
		this.stream = stream;
		this.process = process;
	}

	/** How many numbers are to be left out. */
	get voided(): number {
		return this.#voided.length;
	}

	/** @param atMs milliseconds since the epoch. */
	stored(number: number, sequence: number, atMs: number): void {
		this.#firstMs ??= atMs;
		this.#last = { number, sequence, atMs };
	}

	/** The number isn't stored, or its senders were told to send again. */
	void(number: number): void {
		this.#voided.push(number);
	}

	/** The stream was looked at after all that is known to be stored. What archive has taken is gone from its beginning. */
	inspected(firstSequence: number, lastSequence: number): void {
		const places = this.#places;
		this.#seen = lastSequence;
		const last = this.#last;
		if (last && last !== places.at(-1) && last !== this.#taken)
			places.push(last);
		let taken: Place | undefined;
		while (places[0] && places[0].sequence < firstSequence)
			taken = places.shift();
		if (taken) {
			const { number } = taken;
			this.#taken = taken;
			this.#voided = this.#voided.filter((other) => other > number);
		}
		if (places.length > maxPlaces) places.shift();
	}

	/** What to tell of them, in as many parts as values of the header; none if there is nothing. */
	left(): LeftFrames[] {
		const { stream, process } = this;
		if (!this.#last) return [];
		const sinceMs = this.#taken?.atMs ?? this.#firstMs!;
		const { atMs: untilMs, sequence } = this.#last;
		const lastSequence = Math.max(sequence, this.#seen);
		const part = (ranges: NumberRange[]) => ({
			...{ stream, process, ranges, lastSequence, sinceMs, untilMs },
		});
		const ranges = this.#ranges(this.#last.number);
		const parts: LeftFrames[] = [];
		for (let at = 0; at < ranges.length; at += maxLeftRanges)
			parts.push(part(ranges.slice(at, at + maxLeftRanges)));
		return parts.length > 0 ? parts : [part([])];
	}

	#ranges(last: number): NumberRange[] {
		const ranges: NumberRange[] = [];
		let from = (this.#taken?.number ?? 0) + 1;
		for (const voided of this.#voided) {
			if (voided > last) break;
			if (voided > from) ranges.push([from, voided - 1]);
			from = voided + 1;
		}
		if (from <= last) ranges.push([from, last]);
		return ranges;
	}
}

/** All headers of a frame fit beside the largest event. */
const mostAtOnce = 4;

/** What is to be told of a stream that was left: one value of the header. */
interface Note {
	value: string;
	/** Where the frame is that said it; undefined before one is stored. */
	told?: { stream: string; sequence: number };
}

/**
 * Beyond this many, the oldest are dropped. Each stream that was left has one, and another for each {@link maxLeftRanges} frames
 * that it refused.
 */
const maxNotes = 1_000;

/**
 * What one shard's committer still has to tell of the streams that it has left. It is told in the first frames of a stream, again in
 * those of the next one, and until archive has taken a frame that says it.
 */
export class LeftStreams {
	#notes: Note[] = [];
	#inFlight: Note[] = [];

	leave(numbers: StoredNumbers): void {
		for (const left of numbers.left())
			this.#notes.push({ value: leftValue(left) });
		if (this.#notes.length > maxNotes)
			this.#notes = this.#notes.slice(-maxNotes);
	}

	/** The values of the next frame's header; undefined for none. */
	next(stream: string): string[] | undefined {
		// Nearly always.
		if (this.#notes.length === 0) return undefined;
		this.#inFlight = this.#notes
			.filter(({ told }) => told?.stream !== stream)
			.slice(0, mostAtOnce);
		return this.#inFlight.length > 0
			? this.#inFlight.map(({ value }) => value)
			: undefined;
	}

	/** The latest frame is stored. */
	stored(stream: string, sequence: number): void {
		for (const note of this.#inFlight) note.told = { stream, sequence };
		this.#inFlight = [];
	}

	/** The stream was looked at. Its cuts are in the bucket, and so is what their frames said. */
	inspected(stream: string, firstSequence: number): void {
		if (this.#notes.length === 0) return;
		this.#notes = this.#notes.filter(
			({ told }) => told?.stream !== stream || told.sequence >= firstSequence,
		);
	}
}
