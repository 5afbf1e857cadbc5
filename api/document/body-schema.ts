import { jsonSchema, type SchemaObject } from "../../crds/json-schema.ts";
import type { CelRule, Schema } from "../../crds/resource-schema.ts";
import type { SecretField } from "../resources/secret-fields.ts";
import { shownName } from "../resources/views.ts";

type ObjectSchema = SchemaObject & {
	properties: Record<string, SchemaObject>;
	required?: string[];
};

/** The schemas of a CRD's spec and status. */
export function bodyParts(schema: Schema): {
	spec: ObjectSchema;
	status: ObjectSchema;
} {
	const { spec, status } = schema.properties!;
	return {
		spec: withRules(spec!) as ObjectSchema,
		status: shownPart(withRules(status!)) as ObjectSchema,
	};
}

/**
 * For answers: clients must accept unknown fields, because the API may add fields. A default that is an object has no words in
 * some languages, so openapi-generator's Go doesn't compile with it.
 */
export function answerSchema(schema: SchemaObject): SchemaObject {
	return mapSchema(schema, ({ default: value, ...part }) => {
		const { additionalProperties, ...rest }: SchemaObject = {
			...withoutRules(part),
			...(value !== undefined &&
				typeof value !== "object" && { default: value }),
		};
		return additionalProperties === undefined || additionalProperties === false
			? rest
			: { ...rest, additionalProperties };
	});
}

/**
 * For a request. Generators of clients take a field with a default for one that is always there, as it is in answers
 * (openapi-typescript's `defaultNonNullable`), so the default becomes words.
 */
export function requestSchema(
	spec: ObjectSchema,
	secretFields: SecretField[],
): ObjectSchema {
	const schema = secretFields.reduce(withInlineSecret, spec);
	return mapSchema(schema, ({ default: value, ...part }) =>
		value === undefined
			? part
			: {
					...part,
					description:
						`${part.description ?? ""} Default: \`${JSON.stringify(value)}\`.`.trim(),
				},
	) as ObjectSchema;
}

/** For a JSON Merge Patch: nothing is required, and null removes a field. */
export function patchSchema(schema: SchemaObject): SchemaObject {
	return mapSchema(schema, (part, isItem) => {
		// A patch replaces whole lists, so their items are complete.
		if (isItem) return part;
		const { required: _, default: _d, ...rest } = withoutRules(part);
		return {
			...rest,
			...(rest.type !== undefined && { type: [rest.type, "null"].flat() }),
			...(Array.isArray(rest.enum) && { enum: [...rest.enum, null] }),
		};
	});
}

/** The CRD's schema with its rules, as far as JSON Schema can express them. */
function withRules(crd: Schema): SchemaObject {
	const result = jsonSchema(crd);
	if (crd.properties)
		result.properties = Object.fromEntries(
			Object.entries(crd.properties).map(([name, field]) => [
				name,
				withRules(field),
			]),
		);
	if (crd.items) result.items = withRules(crd.items);
	return (crd["x-kubernetes-validations"] ?? [])
		.map(ruleSchema)
		.reduce(withRule, result);
}

/**
 * A rule stands beside the field's own keywords, or in `allOf` if one of these has its name: openapi-generator's Go has no type for
 * many schemas with `allOf`.
 */
function withRule(schema: SchemaObject, rule: SchemaObject): SchemaObject {
	const { description: words, ...keywords } = rule;
	if (words !== undefined) {
		const before = schema.description ? `${schema.description} ` : "";
		return { ...schema, description: `${before}Rule: ${words}.` };
	}
	return Object.keys(keywords).some((name) => name in schema)
		? { ...schema, allOf: [...((schema.allOf as []) ?? []), rule] }
		: { ...schema, ...keywords };
}

/** Keywords with which {@link withRule} says a rule. */
const ofRules = ["allOf", "if", "then", "else", "oneOf", "not", "uniqueItems"];

function withoutRules(schema: SchemaObject): SchemaObject {
	return Object.fromEntries(
		Object.entries(schema).filter(([name]) => !ofRules.includes(name)),
	);
}

/** The schema of what the view of a status has. */
function shownPart(schema: SchemaObject): SchemaObject {
	return mapSchema(schema, ({ properties, required, ...part }) => {
		const shown = (names: unknown) =>
			(names as string[]).flatMap((name) => shownName(name) ?? []);
		return {
			...part,
			...(required !== undefined && { required: shown(required) }),
			...(properties !== undefined && {
				properties: Object.fromEntries(
					Object.entries(properties!).flatMap(([name, field]) =>
						shown([name]).map((name) => [name, field]),
					),
				),
			}),
		};
	});
}

/** Wherever the CRD has a reference to a Secret, the API also accepts the secret itself. */
function withInlineSecret(
	schema: ObjectSchema,
	secretField: SecretField,
): ObjectSchema {
	const { at, inline, ref, description, beside } = secretField;
	const [first, ...rest] = at;
	if (first === undefined) {
		const text = { type: "string", minLength: 1, maxLength: 65_536 };
		const value =
			ref === "secretRefs"
				? { type: "array", minItems: 1, maxItems: 5, items: text }
				: text;
		const required = schema.required ?? [];
		return {
			...schema,
			required: required.filter((name) => name !== ref),
			...(required.includes(ref)
				? {
						oneOf: [
							{ required: [ref] },
							{ required: [...(beside ? [beside.inline] : []), inline] },
						],
					}
				: { not: { required: [ref, inline] } }),
			properties: {
				...schema.properties,
				...(beside && {
					[beside.inline]: {
						description: beside.description,
						writeOnly: true,
						...text,
					},
				}),
				[inline]: { description, writeOnly: true, ...value },
			},
		};
	}
	const inner = schema.properties[first] as ObjectSchema;
	const field = { ...secretField, at: rest };
	return {
		...schema,
		properties: {
			...schema.properties,
			[first]: withInlineSecret(inner, field),
		},
	};
}

function mapSchema(
	schema: SchemaObject,
	change: (schema: SchemaObject, isItem: boolean) => SchemaObject,
	isItem = false,
): SchemaObject {
	const result = { ...schema };
	if (result.properties)
		result.properties = Object.fromEntries(
			Object.entries(result.properties as Record<string, SchemaObject>).map(
				([name, field]) => [name, mapSchema(field, change, isItem)],
			),
		);
	if (result.items)
		result.items = mapSchema(result.items as SchemaObject, change, true);
	return change(result, isItem);
}

/**
 * Translates a CEL rule of a CRD to JSON Schema for the OpenAPI document. A rule that JSON Schema can't express becomes a
 * description. The apiserver enforces the rule itself.
 */
function ruleSchema({ rule, message }: CelRule): SchemaObject {
	const union = /^\(self\.(\w+) == '(\w+)'\) == has\(self\.(\w+)\)$/.exec(rule);
	if (union) {
		const [, field, value, member] = union;
		return {
			if: {
				properties: { [field!]: { const: value } },
				required: [field],
			},
			// biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
			then: { required: [member] },
			else: { not: { required: [member] } },
		};
	}
	if (rule.endsWith(".filter(given, given).size() == 1")) {
		const fields = [...rule.matchAll(/has\(self\.(\w+)\)/g)];
		return { oneOf: fields.map(([, field]) => ({ required: [field] })) };
	}
	if (rule.includes("self.exists_one(")) return { uniqueItems: true };
	const words = /^self\.all\(\w+, !\(\w+ in \[(.*)\]\)\)$/.exec(rule)?.[1];
	if (words)
		return {
			items: { not: { enum: words.split(", ").map((w) => w.slice(1, -1)) } },
		};
	if (rule.startsWith("self.split('/')"))
		return { not: { pattern: "(^|/)\\.{0,2}(/|$)" } };
	return { description: message };
}
