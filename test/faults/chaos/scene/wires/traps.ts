/**
 * Steps of the data plane that can be seen on its wires, so that a fault can be set to exactly one of them:
 *
 * - publish: receive's frame, and its PubAck
 * - cut: the PUT of a cut record
 * - object: the PUT of a data object
 * - objects-done: the KV write of how far objects are there
 * - purge: the purge of the stream
 * - load: load's GET of a data object
 * - input: a compaction's GET of an object
 * - output: the PUT of an object that a compaction makes
 * - record: the PUT of a compaction's record
 * - superseded: the deletion of what a compaction replaced
 */
export type Point =
	| "publish"
	| "cut"
	| "object"
	| "objects-done"
	| "purge"
	| "load"
	| CompactionPoint;

export const compactionPoints = [
	"input",
	"output",
	"record",
	"superseded",
] as const;
export type CompactionPoint = (typeof compactionPoints)[number];

/**
 * - before: the request has left the client and not reached the server
 * - during: half of it has reached the server
 * - between: one object of a cut is stored, and the next is not
 * - after: the server has done it, and its answer has not reached the client
 */
export type When = "before" | "during" | "between" | "after";

/**
 * What becomes of the message that a trap holds.
 *
 * - go: it arrives
 * - lose: it doesn't, and its connection is broken
 * - swallow: it doesn't, and its connection stays
 * - a number: the client gets this HTTP status in its place
 */
export type Verdict = "go" | "lose" | "swallow" | number;

/** Called by the one that steps on it, with the name of that part of the data plane. */
type Spring = (by: string) => Verdict | Promise<Verdict>;

interface Trap {
	point: Point;
	when: When;
	/** So many pass before it springs. */
	passing: number;
	/** How many more steps it strikes after the first. */
	springs: number;
	spring: Spring;
}

/** The traps that are set on a data plane's wires. */
export class Traps {
	readonly #set = new Set<Trap>();

	/**
	 * Sets a trap for the nth time from now that any part comes to this step; it springs as often as `times` says.
	 * Returns whether it is still set.
	 */
	set(
		point: Point,
		when: When,
		{ nth = 1, times = 1 }: { nth?: number; times?: number },
		spring: Spring,
	): () => boolean {
		const trap = { point, when, passing: nth - 1, springs: times, spring };
		this.#set.add(trap);
		return () => this.#set.has(trap);
	}

	clear(): void {
		this.#set.clear();
	}

	/** Whether one is set there. */
	isSet(point: Point, when: When): boolean {
		return this.#at(point, when).length > 0;
	}

	/** What becomes of a message at this step. */
	async step(point: Point, when: When, by: string): Promise<Verdict> {
		let due: Trap | undefined;
		for (const trap of this.#at(point, when))
			if (trap.passing > 0) trap.passing--;
			else due ??= trap;
		if (!due) return "go";
		if (--due.springs === 0) this.#set.delete(due);
		return due.spring(by);
	}

	#at(point: Point, when: When): Trap[] {
		return [...this.#set].filter(
			(trap) => trap.point === point && trap.when === when,
		);
	}
}
