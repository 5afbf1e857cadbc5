import { randomOf } from "../../support/seeded-random.ts";

/** Choices by a seed: the same seed makes the same ones. */
export class SeededChoices {
	/** From 0 up to 1, without it. */
	readonly next: () => number;

	constructor(seed: number) {
		this.next = randomOf(seed);
	}

	/** An integer from 0 up to `end`, without it. */
	below(end: number): number {
		return Math.floor(this.next() * end);
	}

	of<T>(choices: readonly T[]): T {
		return choices[this.below(choices.length)]!;
	}

	is(probability: number): boolean {
		return this.next() < probability;
	}

	times<T>(count: number, make: () => T): T[] {
		return Array.from({ length: count }, make);
	}
}
