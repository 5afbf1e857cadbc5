// re2js: RE2 in JavaScript, whose time is linear in the text. The engine's own expressions can take exponential time.
import { RE2Set } from "re2js";
import type { Fuel } from "./fuel.ts";

/** A regular expression of a schema. */
export class MeteredPattern {
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

/**
 * A regular expression of JSON Schema (ECMA-262, flag `u`) in RE2's syntax.
 *
 * @throws Error that names what is wrong, or what RE2 can't do.
 */
function toRe2(source: string): string {
	checkSyntax(source);
	const output: string[] = [];
	let inClass = false;
	part.lastIndex = 0;
	for (let match = part.exec(source); match; match = part.exec(source)) {
		const [text] = match;
		if (text.startsWith("\\")) output.push(escaped(text, inClass));
		else if (inClass) {
			if (text === "]") inClass = false;
			output.push(text === "[" ? "\\[" : text);
		} else if (text === "[]") output.push(nothing);
		else if (text === "[^]") output.push(anything);
		else if (text === "[" || text === "[^") {
			inClass = true;
			output.push(text);
		} else if (text.startsWith("(?")) output.push(group(text));
		else if (text === "(") output.push("(?:");
		else if (text === ".") output.push("[^\\n\\r\\x{2028}\\x{2029}]");
		// Not a repetition: those are matched whole.
		else if (text === "{" || text === "}") output.push(`\\${text}`);
		else output.push(text);
	}
	return output.join("");
}

/** The syntax is ECMA-262's; without `u` for those who escape more than they must. */
function checkSyntax(source: string): void {
	try {
		new RegExp(source, "u");
	} catch (error) {
		try {
			new RegExp(source);
		} catch {
			throw error;
		}
	}
}

const part = new RegExp(
	[
		String.raw`\\u\{[\da-fA-F]+\}`,
		String.raw`\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}`,
		String.raw`\\u[\da-fA-F]{4}`,
		String.raw`\\x[\da-fA-F]{2}`,
		String.raw`\\c[a-zA-Z]`,
		String.raw`\\[pP]\{[^}]*\}`,
		String.raw`\\k<[^>]*>`,
		String.raw`\\[1-9]\d*`,
		String.raw`\\[^]`,
		String.raw`\[\^\]|\[\]|\[\^|\[`,
		String.raw`\(\?(?:[=!:]|<[=!]|<[^>]*>|[a-z-]*:)`,
		String.raw`\{\d+(?:,\d*)?\}\??`,
		"[^]",
	].join("|"),
	"gyu",
);

const anything = "[\\x{0}-\\x{10FFFF}]";
const nothing = "[^\\x{0}-\\x{10FFFF}]";

/** ECMA-262's white space and line ends; RE2's `\s` is ASCII. */
const space =
	"\\t\\n\\x{B}\\f\\r \\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}\\x{FEFF}";
const noSpace =
	"\\x{0}-\\x{8}\\x{E}-\\x{1F}!-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}\\x{200B}-\\x{2027}\\x{202A}-\\x{202E}\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}\\x{3001}-\\x{FEFE}\\x{FF00}-\\x{10FFFF}";

function escaped(text: string, inClass: boolean): string {
	const letter = text[1]!;
	switch (letter) {
		case "s":
			return inClass ? space : `[${space}]`;
		case "S":
			return inClass ? noSpace : `[${noSpace}]`;
		case "b":
			return inClass ? "\\x{8}" : text;
		case "p":
		case "P":
			return `\\${letter}{${unicodeClass(text.slice(3, -1))}}`;
		case "c":
			return codePoint(text.charCodeAt(2) % 32);
		case "x":
			return text.length > 2
				? codePoint(Number.parseInt(text.slice(2), 16))
				: "x";
		case "u":
			return unicodeEscape(text);
		case "0":
			return "\\x{0}";
		case "v":
			return "\\x{B}";
		case "k":
			throw new Error(
				`it has the back-reference ${text}, which can take exponential time`,
			);
	}
	if (letter >= "1" && letter <= "9" && !inClass)
		throw new Error(
			`it has the back-reference ${text}, which can take exponential time`,
		);
	if ("dDwWBnrtf".includes(letter)) return text;
	if (/[A-Za-z]/.test(letter))
		throw new Error(`${text} is not an escape sequence`);
	// Any other character stands for itself.
	return codePoint(text.codePointAt(1)!);
}

function unicodeEscape(text: string): string {
	if (text.length === 2) return "u";
	if (text.startsWith("\\u{"))
		return codePoint(Number.parseInt(text.slice(3), 16));
	const units = text.split("\\u").slice(1);
	return codePoint(
		String.fromCharCode(
			...units.map((unit) => Number.parseInt(unit, 16)),
		).codePointAt(0)!,
	);
}

function codePoint(code: number): string {
	return `\\x{${code.toString(16).toUpperCase()}}`;
}

/** RE2 knows the short names of general categories, and scripts by name alone. */
function unicodeClass(name: string): string {
	const [property, value] = name.includes("=") ? name.split("=") : ["gc", name];
	if (property === "gc" || property === "General_Category")
		return categories[value!] ?? value!;
	return value!;
}

const categories: Record<string, string> = {
	Letter: "L",
	Uppercase_Letter: "Lu",
	Lowercase_Letter: "Ll",
	Titlecase_Letter: "Lt",
	Modifier_Letter: "Lm",
	Other_Letter: "Lo",
	Mark: "M",
	Nonspacing_Mark: "Mn",
	Spacing_Mark: "Mc",
	Enclosing_Mark: "Me",
	Number: "N",
	digit: "Nd",
	Decimal_Number: "Nd",
	Letter_Number: "Nl",
	Other_Number: "No",
	Punctuation: "P",
	Connector_Punctuation: "Pc",
	Dash_Punctuation: "Pd",
	Open_Punctuation: "Ps",
	Close_Punctuation: "Pe",
	Initial_Punctuation: "Pi",
	Final_Punctuation: "Pf",
	Other_Punctuation: "Po",
	Symbol: "S",
	Math_Symbol: "Sm",
	Currency_Symbol: "Sc",
	Modifier_Symbol: "Sk",
	Other_Symbol: "So",
	Separator: "Z",
	Space_Separator: "Zs",
	Line_Separator: "Zl",
	Paragraph_Separator: "Zp",
	Other: "C",
	Control: "Cc",
	Format: "Cf",
	Private_Use: "Co",
};

function group(text: string): string {
	if (/^\(\?<?[=!]/.test(text))
		throw new Error(
			`it has the look-around ${text}…), which takes more than linear time; say it with several patterns in allOf or not`,
		);
	return text.startsWith("(?<") ? "(?:" : text;
}
