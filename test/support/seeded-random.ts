import { randomInt } from "node:crypto";

/** Random numbers in [0, 1) from `TEST_SEED`, so that a failure can be had again, or from any seed. The seed is printed. */
export function seededRandom(): () => number {
	const seed = Number(process.env.TEST_SEED || randomInt(2 ** 31));
	console.log(`TEST_SEED=${seed}`);
	return randomOf(seed);
}

/** The random numbers in [0, 1) of a seed (mulberry32). */
export function randomOf(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
}
