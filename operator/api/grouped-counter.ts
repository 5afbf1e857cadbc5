import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import type { SharedCounter } from "./rate-limit.ts";

/** Requests of one subject that are counted by one question. */
interface Group {
	size: number;
	/** The count with all of them. */
	total: Promise<number>;
}

/**
 * Counts together what a subject asks at about the same time: all that arrived in one turn of the event loop, and while
 * the last question was under way. Each still has a count of its own.
 */
export class GroupedCounter {
	readonly #counter: SharedCounter;
	/** By window and subject: those that aren't asked for yet. */
	readonly #waiting = new Map<string, Group>();
	/** By window and subject: settles when the question that is under way is answered. */
	readonly #asked = new Map<string, Promise<void>>();

	constructor(counter: SharedCounter) {
		this.#counter = counter;
	}

	/** Adds one, and returns the count then. Throws as the counter does. */
	async add(window: number, subject: string): Promise<number> {
		const key = `${window} ${subject}`;
		let group = this.#waiting.get(key);
		if (!group) {
			group = { size: 0, total: this.#count(key, window, subject) };
			this.#waiting.set(key, group);
		}
		const place = ++group.size;
		return (await group.total) - group.size + place;
	}

	async #count(key: string, window: number, subject: string): Promise<number> {
		await (this.#asked.get(key) ?? turnOfTheLoop());
		const { size } = this.#waiting.get(key)!;
		this.#waiting.delete(key);
		const total = this.#counter.add(window, subject, size);
		const asked = total.then(
			() => undefined,
			() => undefined,
		);
		this.#asked.set(key, asked);
		try {
			return await total;
		} finally {
			if (this.#asked.get(key) === asked) this.#asked.delete(key);
		}
	}
}
