import type { ResourceSchema, Schema } from "../../../crds/resource-schema.ts";
import {
	type FieldPath,
	fieldAt,
	type Manifest,
	withField,
} from "./manifest.ts";

/** A manifest that is good but for one bound of one field. */
export interface BrokenBound {
	/** The field and the keyword, such as `Source spec.displayName maxLength`. */
	bound: string;
	manifest: Manifest;
	/** What the apiserver says among other things. */
	refused: string;
}

/**
 * One manifest for every bound in the schemas (each keyword of each field of each spec), made by changing an accepted
 * manifest that has the field. A field that is in none of them throws: it would go untested.
 */
export function brokenBounds(
	resources: ResourceSchema[],
	accepted: Manifest[],
): BrokenBound[] {
	return resources.flatMap(({ kind, schema }) =>
		[...fieldsOf(schema.properties!.spec!, ["spec"])].flatMap(
			({ path, field, required }) => {
				const base = accepted.find(
					(manifest) =>
						manifest.kind === kind && fieldAt(manifest, path) !== undefined,
				);
				if (!base)
					throw new Error(`No accepted ${kind} has ${path.join(".")}.`);
				return violations(field, required, textOf(path)).map(
					({ keyword, value, refused }) => ({
						bound: `${kind} ${textOf(path)} ${keyword}`,
						manifest: withField(base, path, value),
						refused,
					}),
				);
			},
		),
	);
}

interface Violation {
	keyword: string;
	/** Undefined leaves the field out. */
	value: unknown;
	refused: string;
}

function violations(
	field: Schema,
	required: boolean,
	path: string,
): Violation[] {
	const all: (Violation | false | undefined)[] = [
		required && {
			keyword: "required",
			value: undefined,
			refused: `${path}: Required value`,
		},
		field.enum && {
			keyword: "enum",
			value: "Other",
			refused: `${path}: Unsupported value: "Other": supported values: ${field.enum.map((value) => `"${value}"`).join(", ")}`,
		},
		field.pattern !== undefined && {
			keyword: "pattern",
			// Some refuse nothing but control characters.
			value: new RegExp(field.pattern, "u").test("%{x}%") ? "\r\n" : "%{x}%",
			refused: `${path} in body should match '${field.pattern}'`,
		},
		field.format === "date" && {
			keyword: "format",
			value: "2026-02-30",
			refused: `${path} in body must be of type date: "2026-02-30"`,
		},
		field.minLength !== undefined && {
			keyword: "minLength",
			value: "a".repeat(field.minLength - 1),
			refused: `${path} in body should be at least ${field.minLength} chars long`,
		},
		field.maxLength !== undefined && {
			keyword: "maxLength",
			value: "a".repeat(field.maxLength + 1),
			refused: `${path}: Too long: may not be more than ${field.maxLength} bytes`,
		},
		field.minimum !== undefined && {
			keyword: "minimum",
			value: field.minimum - 1,
			refused: `${path} in body should be greater than or equal to ${field.minimum}`,
		},
		field.maximum !== undefined && {
			keyword: "maximum",
			value: field.maximum + 1,
			refused: `${path} in body should be less than or equal to ${field.maximum}`,
		},
		field.minItems !== undefined && {
			keyword: "minItems",
			value: [],
			refused: `${path} in body should have at least ${field.minItems} items`,
		},
		field.maxItems !== undefined && {
			keyword: "maxItems",
			value: Array.from({ length: field.maxItems + 1 }, () => ({})),
			refused: `${path}: Too many: ${field.maxItems + 1}: must have at most ${field.maxItems} items`,
		},
		field.maxProperties !== undefined && {
			keyword: "maxProperties",
			value: Object.fromEntries(
				Array.from({ length: field.maxProperties + 1 }, (_, i) => [`r${i}`, 1]),
			),
			refused: `${path}: Too many: ${field.maxProperties + 1}: must have at most ${field.maxProperties} items`,
		},
	];
	return all.filter(
		(violation) => violation !== false && violation !== undefined,
	);
}

export function* fieldsOf(
	schema: Schema,
	path: FieldPath,
	required = true,
): Generator<{ path: FieldPath; field: Schema; required: boolean }> {
	yield { path, field: schema, required };
	for (const [name, field] of Object.entries(schema.properties ?? {}))
		yield* fieldsOf(
			field,
			[...path, name],
			schema.required?.includes(name) ?? false,
		);
	if (schema.items) yield* fieldsOf(schema.items, [...path, 0], false);
	if (schema.additionalProperties)
		yield* fieldsOf(schema.additionalProperties, [...path, "memory"], false);
}

export function textOf(path: FieldPath): string {
	return path
		.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`))
		.join("")
		.slice(1);
}
