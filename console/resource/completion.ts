import { fieldWords as words } from "../messages/forms.ts";
import { isObject, type PlainObject } from "./draft.ts";

/** What may stand at a place of a manifest. */
export interface Completion {
	label: string;
	/** What is written: a field with its colon, a value as YAML has it. */
	apply: string;
	detail?: string;
	info?: string;
}

/** A schema of a CRD, or of the manifest around it. */
type Schema = PlainObject;

/** Where in a manifest somebody writes: the fields around it, from the root, and whether a value or a field is written. */
export interface Place {
	path: string[];
	/** The field whose value is being written. */
	field?: string;
	/** How much of the word is there. */
	word: string;
}

/** By the indentation alone, as a manifest that is being written is seldom whole. `[]` stands for an item of a list. */
export function placeAt(text: string, offset: number): Place {
	const before = text.slice(0, offset);
	const lines = before.split("\n");
	const line = lines.pop()!;
	const [, dashes, inner] = /^(\s*(?:- +)*)(.*)$/.exec(line)!;
	const path: string[] = [];
	let indent = dashes!.length;
	let isInItem = dashes!.includes("-");
	if (isInItem) {
		path.unshift("[]");
		indent = dashes!.indexOf("-");
	}
	for (const above of lines.reverse()) {
		const found = /^(\s*)((?:- +)*)([^\s#:][^:]*):\s*(?:[|>][-+]?\s*)?$/.exec(
			above,
		);
		const item = /^(\s*)(- +)\S/.exec(above);
		if (found) {
			const own = found[1]!.length + found[2]!.length;
			// A list may be as far to the left as the field that has it.
			const isAround = isInItem
				? found[1]!.length <= indent && own <= indent
				: own < indent;
			if (isAround) {
				path.unshift(found[3]!.replace(/^["']|["']$/g, ""));
				isInItem = found[2] !== "";
				indent = found[1]!.length;
				if (isInItem) path.unshift("[]");
				continue;
			}
		}
		if (
			item &&
			!isInItem &&
			item[1]!.length < indent &&
			item[1]!.length + item[2]!.length <= indent
		) {
			path.unshift("[]");
			isInItem = true;
			indent = item[1]!.length;
		}
	}
	const value = /^([^\s#:][^:]*):\s+(\S*)$/.exec(inner!);
	return value
		? { path, field: value[1]!, word: value[2]! }
		: { path, word: inner!.trim() };
}

/**
 * What may be written there.
 * @param crd the schema of the kind's CRD (`openAPIV3Schema`), whose descriptions people read.
 */
export function completionsAt(
	crd: Schema,
	kind: string,
	{ path, field }: Place,
): Completion[] {
	const root: Schema = {
		type: "object",
		properties: {
			apiVersion: { enum: ["tidemill.dev/v1alpha1"] },
			kind: { enum: [kind] },
			metadata: {
				type: "object",
				properties: {
					name: { description: words.resourceName },
					labels: { type: "object", description: words.resourceLabels },
				},
			},
			spec: valueIn(crd, "properties", "spec") as Schema,
		},
	};
	let schema: Schema | undefined = root;
	for (const step of path) {
		if (!schema) return [];
		schema =
			step === "[]"
				? (schemaIn(schema, "items") ??
					(isJsonSchema(schema) ? schema : undefined))
				: memberOf(schema, step);
	}
	if (!schema) return [];
	if (field !== undefined) return valuesOf(memberOf(schema, field), field);
	const members = propertiesOf(schema);
	return Object.entries(members).map(([name, member]) => {
		const type = typeof member.type === "string" ? member.type : undefined;
		return {
			label: name,
			apply: `${name}: `,
			...(type !== undefined && { detail: type }),
			...(typeof member.description === "string" && {
				info: member.description,
			}),
		};
	});
}

function valuesOf(schema: Schema | undefined, field: string): Completion[] {
	const values = Array.isArray(schema?.enum)
		? schema.enum
		: schema?.type === "boolean"
			? [true, false]
			: isJsonSchema(schema ?? {}) && field in keywordValues
				? keywordValues[field]!
				: [];
	return values.map((value) => ({
		label: String(value),
		apply: String(value),
	}));
}

function memberOf(schema: Schema, name: string): Schema | undefined {
	if (isJsonSchema(schema)) {
		// Below properties and $defs stand names of people's own, and below each of those a schema again.
		return ["properties", "$defs", "patternProperties"].includes(name)
			? { ...jsonSchema, isNames: true }
			: schema.isNames
				? jsonSchema
				: { ...jsonSchema, ...keywords[name] };
	}
	return (
		schemaIn(schema, "properties", name) ??
		schemaIn(schema, "additionalProperties")
	);
}

function propertiesOf(schema: Schema): Record<string, Schema> {
	if (schema.isNames) return {};
	if (isJsonSchema(schema)) return keywords;
	return (schemaIn(schema, "properties") ?? {}) as Record<string, Schema>;
}

function schemaIn(schema: Schema, ...path: string[]): Schema | undefined {
	const found = valueIn(schema, ...path);
	return isObject(found) ? found : undefined;
}

function valueIn(schema: unknown, ...path: string[]): unknown {
	return path.reduce<unknown>(
		(at, step) =>
			isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined,
		schema,
	);
}

/** Where a CRD keeps what it doesn't know, there is a JSON Schema of an event. */
const jsonSchema: Schema = { "x-kubernetes-preserve-unknown-fields": true };

function isJsonSchema(schema: Schema): boolean {
	return schema["x-kubernetes-preserve-unknown-fields"] === true;
}

const keywords: Record<string, Schema> = {
	type: { description: words.type },
	properties: { type: "object", description: words.properties },
	required: { type: "array", description: words.required },
	items: { type: "object", description: words.items },
	enum: { type: "array", description: words.enum },
	const: { description: words.const },
	format: { description: words.format },
	pattern: { type: "string", description: words.pattern },
	minimum: { type: "number", description: words.minimum },
	maximum: { type: "number", description: words.maximum },
	multipleOf: { type: "number", description: words.multipleOf },
	minLength: { type: "integer", description: words.minLength },
	maxLength: { type: "integer", description: words.maxLength },
	minItems: { type: "integer", description: words.minItems },
	maxItems: { type: "integer", description: words.maxItems },
	uniqueItems: { type: "boolean", description: words.uniqueItems },
	additionalProperties: { description: words.additionalProperties },
	allOf: { type: "array", description: words.allOf },
	anyOf: { type: "array", description: words.anyOf },
	oneOf: { type: "array", description: words.oneOf },
	not: { type: "object", description: words.not },
	$ref: { type: "string", description: words.$ref },
	$defs: { type: "object", description: words.$defs },
	description: { type: "string", description: words.description },
};

const keywordValues: Record<string, (string | boolean)[]> = {
	type: [
		...["string", "number", "integer", "boolean"],
		...["object", "array", "null"],
	],
	format: [
		...["date-time", "date", "time", "duration", "email", "uri"],
		...["uuid", "ipv4", "ipv6", "hostname", "json-pointer", "regex"],
	],
	additionalProperties: [true, false],
	uniqueItems: [true, false],
};
