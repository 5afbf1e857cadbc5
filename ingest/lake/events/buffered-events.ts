import { maxClockDifferenceMs } from "../../../packages/contracts/utc-date.ts";
import type { EventStore, StreamEnds } from "./event-store.ts";
import {
	type FramesChoice,
	isBefore,
	newestFirst,
	type RowPlace,
	type StoredRow,
} from "./row.ts";

/** Frames of about so many bytes are read before it is seen whether more are needed. */
const windowBytes = 32 * 1024 ** 2;
/** A page that has moved on ends after this time with what it has, and its cursor. */
export const pageMs = 3_000;

/** Frames that were read together. */
interface Window {
	first: number;
	/** Stream times. */
	firstMs: number | undefined;
	lastMs: number;
	/** Of the chosen rows. */
	oldest: RowPlace | undefined;
	/** There may be more chosen rows than were read. */
	isCut: boolean;
}

/**
 * The newest chosen rows of the buffer. It is read backwards, a window of frames at a time, until nothing unread can come
 * before the page's last row. No more than a page's rows and a batch of frames are held.
 */
export class BufferedEvents {
	/** The newest first. */
	rows: StoredRow[] = [];
	/** No event that wasn't read is later than this; -Infinity if all were read. */
	unreadMs = -Infinity;
	readonly #events: EventStore;
	readonly #ends: StreamEnds;
	/** The first sequence that isn't read. */
	readonly #end: number;
	readonly #choice: FramesChoice;
	readonly #windows: Window[] = [];

	private constructor(
		events: EventStore,
		ends: StreamEnds,
		choice: FramesChoice,
		end: number,
	) {
		this.#events = events;
		this.#ends = ends;
		this.#choice = choice;
		this.#end = end;
	}

	/** @param end only frames before this sequence. */
	static async read(
		events: EventStore,
		ends: StreamEnds,
		choice: FramesChoice,
		end = Infinity,
	): Promise<BufferedEvents> {
		const first = Math.min(end, ends.last + 1);
		const buffered = new BufferedEvents(events, ends, choice, first);
		await buffered.#read();
		return buffered;
	}

	/** From this sequence on, no frame has a chosen row before the place. The next page needn't read them again. */
	readThrough(place: RowPlace): number {
		let end = this.#end;
		for (const { first, oldest, isCut } of this.#windows) {
			if (isCut || (oldest && isBefore(oldest, place))) break;
			end = first;
		}
		return end;
	}

	async #read(): Promise<void> {
		const { stream, done, frameBytes } = this.#ends;
		const { before, fromMs = 0, limit } = this.#choice;
		const frames = Math.max(1, Math.floor(windowBytes / (frameBytes || 1)));
		let untilMs: number | undefined;
		let to = this.#end - 1;
		let unreadMs = Infinity;
		// What is archived meanwhile is in objects.
		while (to > (this.#events.doneOf(stream) ?? done)) {
			const window = await this.#readWindow(
				Math.max(done + 1, to - frames + 1),
				to,
			);
			this.#windows.push(window);
			to = window.first - 1;
			if (window.firstMs !== undefined)
				unreadMs = window.firstMs + maxClockDifferenceMs;
			if (unreadMs < fromMs) return;
			const isFull = (this.rows[limit - 1]?.timeMs ?? 0) > unreadMs;
			const startMs = before?.timeMs ?? this.#windows[0]!.lastMs;
			if (unreadMs < startMs - 1) untilMs ??= performance.now() + pageMs;
			if (!isFull && performance.now() < (untilMs ?? Infinity)) continue;
			if (to > done) this.unreadMs = unreadMs;
			return;
		}
	}

	async #readWindow(first: number, to: number): Promise<Window> {
		const { stream } = this.#ends;
		const { limit } = this.#choice;
		const window: Window = {
			first,
			firstMs: undefined,
			lastMs: 0,
			oldest: undefined,
			isCut: false,
		};
		const wanted = { stream, from: first, to };
		for await (const { rows, firstMs, lastMs } of this.#events.buffered(
			wanted,
			this.#choice,
		)) {
			window.firstMs ??= firstMs;
			window.lastMs = lastMs ?? window.lastMs;
			window.isCut ||= rows.length >= limit;
			const oldest = rows.at(-1);
			if (oldest && (!window.oldest || isBefore(oldest, window.oldest)))
				window.oldest = oldest;
			this.rows = newestFirst([...this.rows, ...rows]).slice(0, limit);
		}
		return window;
	}
}
