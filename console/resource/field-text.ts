import { parse, stringify } from "yaml";
import { choicesOf, fieldsIn } from "../../crds/fields.ts";
import type { Schema } from "../../crds/resource-schema.ts";
import {
	isObject,
	numberOf,
	type PlainObject,
	textAt,
	valueAt,
} from "./draft.ts";

/** How a person writes a field of this schema: picks it, or types a number, a line, lines, or YAML. */
export type FieldForm = "choice" | "number" | "line" | "lines" | "yaml";

/** From this length on a text may have lines, such as a signature's signedString. */
const longText = 400;

/** @param value that it has now: an input of one line would drop its line feeds. */
export function formOf(schema: Schema, value?: unknown): FieldForm {
	const { type, items, maxLength = longText, pattern } = schema;
	if (choicesOf(schema)) return "choice";
	if (schema["x-kubernetes-int-or-string"]) return "line";
	if (type === "integer") return "number";
	if (type === "string") {
		const hasLines = typeof value === "string" && value.includes("\n");
		// A text with a pattern is a name or an address, however long it may be.
		const mayHaveLines = maxLength >= longText && pattern === undefined;
		return hasLines || mayHaveLines ? "lines" : "line";
	}
	return type === "array" && (items?.type === "string" || isNames(schema))
		? "lines"
		: "yaml";
}

/** A list of objects that have a name and nothing else. */
function isNames({ items }: Schema): boolean {
	return Object.keys(items?.properties ?? {}).join() === "name";
}

/** The text that shows a value in its field. */
export function textOfValue(schema: Schema, value: unknown): string {
	if (value === undefined) return "";
	if (typeof value !== "object" || value === null) return String(value);
	return Array.isArray(value) && formOf(schema) === "lines"
		? value
				.map((one) => (isObject(one) ? textAt(one, "name") : textOfItem(one)))
				.join("\n")
		: stringify(value);
}

/** Also of what the field doesn't take, such as a list in a list. */
function textOfItem(item: unknown): string {
	return typeof item === "object" ? JSON.stringify(item) : String(item);
}

/** The value of what somebody typed. What can't be of the field's type stays a text, for the API to refuse at its field. */
export function valueOfText(schema: Schema, text: string): unknown {
	if (text === "") return undefined;
	if (schema.type === "boolean") return text === "true";
	if (schema["x-kubernetes-int-or-string"] || schema.type === "integer")
		return numberOf(text);
	switch (formOf(schema)) {
		case "lines": {
			if (schema.type !== "array") return text;
			// Whoever types the next item has ended this one's line.
			const lines = text.replace(/\n+$/, "");
			if (lines === "") return undefined;
			const items = lines.split("\n");
			return isNames(schema) ? items.map((name) => ({ name })) : items;
		}
		case "yaml":
			try {
				return parse(text);
			} catch {
				return text;
			}
		default:
			return text;
	}
}

/** The schema of the field at a path without lists. */
export function schemaAt(schema: Schema, path: string): Schema {
	return path.split(".").reduce((at, step) => at.properties![step]!, schema);
}

/**
 * The fields of a spec that a form has none of its own for, and that matter to this one.
 * @param own the paths of the form's own fields
 */
export function otherFields(
	schema: Schema,
	spec: PlainObject,
	own: readonly string[],
) {
	const isWithin = (inner: string, outer: string) =>
		inner === outer || inner.startsWith(`${outer}.`);
	return fieldsIn(schema).filter(
		({ path }) =>
			!own.some((one) => isWithin(path, one) || isWithin(one, path)) &&
			isOfChosen(schema, spec, path.split(".")),
	);
}

/** Of a union, as Kubernetes' APIs write it, the member that `type` names: `customToken` beside `type: CustomToken`. */
function isOfChosen(
	schema: Schema | undefined,
	value: unknown,
	[step, ...rest]: string[],
): boolean {
	if (!schema || step === undefined) return true;
	const { type, [step]: member } = schema.properties ?? {};
	const chosen = type?.enum?.find(
		(one) => String(one).toLowerCase() === step.toLowerCase(),
	);
	if (chosen !== undefined && valueAt(value, "type") !== chosen) return false;
	return isOfChosen(member, isObject(value) ? value[step] : undefined, rest);
}
