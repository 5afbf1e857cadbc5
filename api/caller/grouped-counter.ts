import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import type { SharedCounter } from "./rate-limit.ts";

/** What is known of a subject's count in a window. */
interface Counts {
	/** Those from `next` to `last` were asked for, and nobody has them yet. */
	next: number;
	last: number;
	/** How many requests wait for one. */
	waiting: number;
	/** Settles when there are new ones. */
	question: Promise<void> | undefined;
}

/**
 * Counts together what a subject asks at about the same time: all that arrived in one turn of the event loop, and while
 * the last question was under way. Each still has a count of its own.
 */
export class GroupedCounter {
	readonly #counter: SharedCounter;
	readonly #ahead: number;
	#window = 0;
	/** By subject, in this window. */
	#counts = new Map<string, Counts>();

	/** @param ahead so many requests are counted with each question before they come. What doesn't come is lost to the window. */
	constructor(counter: SharedCounter, ahead: number) {
		this.#counter = counter;
		this.#ahead = ahead;
	}

	/** Adds one, and returns the count then. Throws as the counter does. */
	async add(window: number, subject: string): Promise<number> {
		const counts = this.#countsOf(window, subject);
		counts.waiting++;
		try {
			while (counts.next > counts.last) {
				counts.question ??= this.#ask(counts, window, subject);
				await counts.question;
			}
			return counts.next++;
		} finally {
			counts.waiting--;
		}
	}

	#countsOf(window: number, subject: string): Counts {
		if (window !== this.#window) {
			this.#window = window;
			this.#counts = new Map();
		}
		let counts = this.#counts.get(subject);
		if (!counts) {
			counts = { next: 1, last: 0, waiting: 0, question: undefined };
			this.#counts.set(subject, counts);
		}
		return counts;
	}

	async #ask(counts: Counts, window: number, subject: string): Promise<void> {
		try {
			await turnOfTheLoop();
			const size = counts.waiting + this.#ahead;
			const total = await this.#counter.add(window, subject, size);
			counts.next = total - size + 1;
			counts.last = total;
		} finally {
			counts.question = undefined;
		}
	}
}
