// re2js: RE2 in JavaScript, whose time is linear in the text. The engine's own expressions can take exponential time.
import { RE2Set } from "re2js";
import type { Fuel } from "./fuel.ts";
import { toRe2 } from "./re2-syntax.ts";

/** A regular expression of a schema. */
export class Pattern {
	readonly #source: string;
	readonly #fuel: Fuel;
	readonly #siblings: { size: number };
	#set: { match(text: string): number[]; instructions: number } | undefined;

	/** @param siblings All patterns of the plan: they share the memory for matching. */
	constructor(source: string, fuel: Fuel, siblings: { size: number }) {
		this.#source = source;
		this.#fuel = fuel;
		this.#siblings = siblings;
	}

	test(text: string): boolean {
		this.#set ??= compileRe2(
			toRe2(this.#source),
			Math.max(minBytes, Math.floor(maxBytes / this.#siblings.size)),
		);
		this.#fuel.burn(
			1 + (text.length * this.#set.instructions) / charactersPerStep,
		);
		return this.#set.match(text).length > 0;
	}
}

/**
 * What is wrong with a regular expression, for people; undefined if it can be used.
 */
export function patternFault(source: string): string | undefined {
	try {
		compileRe2(toRe2(source), minBytes);
		return undefined;
	} catch (error) {
		return (error as Error).message.replace(/^error parsing regexp: /, "");
	}
}

/** Of the states that re2js keeps; it is slower with fewer. */
const maxBytes = 16 * 1024 * 1024;
const minBytes = 16 * 1024;

/** How many characters times instructions take about as long as a step. */
const charactersPerStep = 16;

function compileRe2(expression: string, bytes: number) {
	const set = new RE2Set(RE2Set.UNANCHORED, 0, bytes);
	set.add(expression);
	set.compile();
	const { prog } = set as unknown as { prog: { numInst(): number } };
	const instructions = prog.numInst();
	if (instructions > maxInstructions)
		throw new Error(
			`it takes ${instructions} instructions, and ${maxInstructions} is the most; repeat less, or use maxLength`,
		);
	return { match: (text: string) => set.match(text), instructions };
}

/** A pattern of a few characters can have millions: `((a{100}){100}){100}`. */
const maxInstructions = 10_000;
