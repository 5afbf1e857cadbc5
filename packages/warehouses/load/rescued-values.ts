import type { Path } from "./body-paths.ts";
import { type ColumnValue, compactJson, decoded } from "./body-value.ts";
import { JsonReader, openBrace } from "./json-reader.ts";

/**
 * The body without what columns hold, as the value of a text column: JSON text with the objects on the way, so it is never longer than
 * the body. Nulls and empty objects of the objects that it goes into are nothing. Of several members with one name the last counts.
 * @param values Of the columns that the paths name.
 */
export function restOf(
	body: string,
	root: Path,
	values: readonly ColumnValue[],
): ColumnValue {
	const rest = new RestReader(body, values).read(root, true);
	return rest === undefined ? null : `=${rest}`;
}

/** It calls itself only along a path. */
class RestReader extends JsonReader {
	readonly #values: readonly ColumnValue[];

	constructor(body: string, values: readonly ColumnValue[]) {
		super(body);
		this.#values = values;
	}

	read({ columns, parts }: Path, isRoot = false): string | undefined {
		const isObject = this.next() === openBrace;
		const isHeld = columns.some((column) => this.#values[column] !== "?");
		if (isObject && !isHeld && (isRoot || parts.size > 0))
			return this.#object(parts);
		const text = this.text();
		return isHeld ? undefined : somethingOf(text);
	}

	#object(parts: Path["parts"]): string | undefined {
		const rest = new Map<string, string>();
		this.members((written) => {
			const name = decoded(written);
			const part = parts.get(name);
			const value = part ? this.read(part) : somethingOf(this.text());
			const wellFormed = name.toWellFormed();
			if (value === undefined) rest.delete(wellFormed);
			else rest.set(wellFormed, value);
		});
		if (rest.size === 0) return undefined;
		const members = [...rest].map(
			([name, value]) => `${JSON.stringify(name)}:${value}`,
		);
		return `{${members.join(",")}}`;
	}
}

function somethingOf(json: string): string | undefined {
	const { text } = compactJson(json);
	return text === "null" || text === "{}" ? undefined : text;
}
