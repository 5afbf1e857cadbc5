// ajv: the JSON Schema validator that fastify uses, too. ajv-formats: its formats `date` and `date-time`.
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import schemas from "./generated/spec-schemas.json" with { type: "json" };
import type { SchemaObject } from "./json-schema.ts";
import { patternWords } from "./pattern-words.ts";

export type KindWithSpec = keyof typeof schemas;

/** What is wrong with one field. `path` is as in kubectl's messages: `spec.dates.start`. */
export interface SpecError {
	path: string;
	message: string;
}

/** Strangers write specs with an error in every third byte. Nobody reads more errors, or longer ones. */
const maxErrors = 1_000;
const maxPathLength = 256;
/** A larger spec, such as a long tracking plan, is checked up to its first error, which bounds the time. */
const maxValues = 10_000;

/**
 * The errors of a spec by the CRD's schema, without asking the apiserver: the first 1,000, or the first one if the spec is
 * very large. It does not check CEL rules, so admission may still refuse a spec without errors.
 */
export function validateSpec(kind: KindWithSpec, spec: unknown): SpecError[] {
	const validate = (isLarge(spec) ? briefly : fully).getSchema(kind)!;
	return errorsBy(validate, spec);
}

/** The same for what has another schema. */
export function schemaValidator(
	schema: SchemaObject,
): (value: unknown) => SpecError[] {
	let validate: Validate | undefined;
	return (value) => {
		validate ??= fully.compile(schema);
		return errorsBy(validate, value);
	};
}

type Validate = NonNullable<ReturnType<Ajv2020["getSchema"]>>;

function errorsBy(validate: Validate, value: unknown): SpecError[] {
	if (validate(value)) return [];
	const errors = validate.errors ?? [];
	// The function would keep them until its next call.
	validate.errors = null;
	return errors.slice(0, maxErrors).map(fieldError);
}

const fully = newValidator(true);
const briefly = newValidator(false);

function newValidator(allErrors: boolean): Ajv2020 {
	const ajv = new Ajv2020({
		allErrors,
		allowUnionTypes: true,
		schemas: withIds(),
	});
	// ajv-formats is CommonJS with an ESM-style default export.
	ajvFormats.default(ajv, ["date", "date-time"]);
	return ajv;
}

function isLarge(spec: unknown): boolean {
	const open = [spec];
	for (let left = maxValues; left >= 0; ) {
		if (open.length === 0) return false;
		const value = open.pop();
		if (typeof value !== "object" || value === null) continue;
		const values = Object.values(value);
		left -= values.length;
		if (left >= 0) open.push(...values);
	}
	return true;
}

function withIds() {
	return Object.entries(schemas).map(([kind, schema]) => ({
		...schema,
		$id: kind,
	}));
}

function fieldError(error: ErrorObject): SpecError {
	const path = `spec${shortened(error.instancePath)
		.replaceAll(/\/(\d+)/g, "[$1]")
		.replaceAll("/", ".")}`;
	switch (error.keyword) {
		case "required":
			return {
				path: `${path}.${error.params.missingProperty}`,
				message: "is required",
			};
		case "additionalProperties":
			return {
				path: `${path}.${shortened(error.params.additionalProperty)}`,
				message: "is not a known field",
			};
		case "enum":
			return {
				path,
				message: `must be one of ${error.params.allowedValues.join(", ")}`,
			};
		case "format":
			return { path, message: `must be ${formats[error.params.format]}` };
		case "pattern":
			return {
				path,
				message: patternWords(error.params.pattern) ?? "is not valid",
			};
		case "uniqueItems": {
			const { i, j } = error.params;
			const twins = `[${Math.min(i, j)}] and [${Math.max(i, j)}]`;
			return { path, message: `has the same item twice, as ${twins}` };
		}
		default:
			return {
				path,
				// ajv writes "must NOT have more than 5 items".
				message: error.message?.replace("NOT", "not") ?? "is not valid",
			};
	}
}

const formats: Record<string, string> = {
	date: "a date such as 2026-01-31",
	"date-time": "a date and time such as 2026-01-31T00:00:00Z",
};

function shortened(path: string): string {
	return path.length > maxPathLength
		? `${path.slice(0, maxPathLength)}…`
		: path;
}
