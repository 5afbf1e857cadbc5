import type { BodyMatch } from "../../contracts/archive.ts";
import { quoteText } from "../../duckdb/quoting.ts";
import type { Session } from "../../duckdb/session.ts";
import {
	decoded,
	JsonReader,
	NotJson,
	openBrace,
	openBracket,
} from "../../json/json-reader.ts";
import { canonicalNumber, numberForm } from "../../service/exact-json.ts";
import { pointerParts } from "../../service/json-pointer.ts";

/*
 * Which bodies an Erase means, in the bucket and in every table: what the pointer names is the value, or a list that has it, as a
 * form's field that comes several times is. Of several members with one name each counts, since readers differ in which they take.
 */

export function isMeant(body: string, match: BodyMatch): boolean {
	try {
		return new MatchReader(body, match).isMatch();
	} catch (error) {
		if (error instanceof NotJson) return false;
		throw error;
	}
}

const meantFunction = "tidemill_body_means";

/** The same as a condition of DuckDB, by {@link defineBodyMatch}. */
export function meantSql(body: string, match: BodyMatch): string {
	return `(${meantFunction}(${body}, ${quoteText(JSON.stringify(match))}) = 'y')`;
}

export function defineBodyMatch(session: Session): void {
	const matches = new Map<string, BodyMatch>();
	const call = (body: string, text: string) => {
		const match: BodyMatch = matches.get(text) ?? JSON.parse(text);
		matches.set(text, match);
		return isMeant(body, match) ? "y" : "n";
	};
	session.define(meantFunction, call, { isConstant: true });
}

/**
 * A pattern of RE2 that every body has that may be meant, so that a warehouse sends no others; undefined if most have it. A character
 * may be written as an escape.
 */
export function meantPattern({
	equals,
	equalsNumber,
}: BodyMatch): string | undefined {
	if (equals !== undefined)
		return equals === ""
			? undefined
			: `\\\\|${equals.replace(/[^\p{L}\p{N}]/gu, (sign) => `\\x{${sign.codePointAt(0)!.toString(16)}}`)}`;
	const [, digits] = /^-?(\d+)e/.exec(canonicalNumber(equalsNumber)) ?? [];
	return digits && [...digits].join("\\.?");
}

/** Calls itself only along the pointer. */
class MatchReader extends JsonReader {
	readonly #parts: string[];
	readonly #isValue: (json: string) => boolean;
	#isMatch = false;

	constructor(body: string, { bodyPointer, equals, equalsNumber }: BodyMatch) {
		super(body);
		this.#parts = pointerParts(bodyPointer);
		const number = equalsNumber && canonicalNumber(equalsNumber);
		this.#isValue =
			equals === undefined
				? (json) => numberForm.test(json) && canonicalNumber(json) === number
				: (json) => json[0] === '"' && decoded(json).toWellFormed() === equals;
	}

	isMatch(): boolean {
		this.#read(0);
		return this.#isMatch;
	}

	#read(depth: number): void {
		const part = this.#parts[depth];
		const first = this.next();
		const isList = first === openBracket;
		if (part === undefined && isList) this.items(() => this.#take());
		else if (part === undefined) this.#take();
		else if (isList)
			this.items((index) => {
				if (String(index) === part) this.#read(depth + 1);
				else this.passValue();
			});
		else if (first === openBrace)
			this.members((written) => {
				if (decoded(written) === part) this.#read(depth + 1);
				else this.passValue();
			});
		else this.passValue();
	}

	#take(): void {
		const json = this.text();
		this.#isMatch ||= this.#isValue(json);
	}
}
