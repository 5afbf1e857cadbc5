// ajv: the JSON Schema validator that fastify uses, too. ajv-formats: its formats `date` and `date-time`.
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import schemas from "./generated/spec-schemas.json" with { type: "json" };

export type Kind = keyof typeof schemas;

/** What is wrong with one field. `path` is as in kubectl's messages: `spec.dates.start`. */
export interface FieldError {
	path: string;
	message: string;
}

/**
 * All errors of a spec by the CRD's schema, without asking the apiserver. It does not judge CEL rules, so admission may
 * still refuse a spec without errors.
 */
export function validateSpec(kind: Kind, spec: unknown): FieldError[] {
	const validate = ajv.getSchema(kind)!;
	return validate(spec) ? [] : (validate.errors ?? []).map(fieldError);
}

const ajv = new Ajv2020({
	allErrors: true,
	allowUnionTypes: true,
	schemas: withIds(),
});
// ajv-formats is CommonJS with an ESM-style default export.
ajvFormats.default(ajv, ["date", "date-time"]);

function withIds() {
	return Object.entries(schemas).map(([kind, schema]) => ({
		...schema,
		$id: kind,
	}));
}

function fieldError(error: ErrorObject): FieldError {
	const path = `spec${error.instancePath
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
				path: `${path}.${error.params.additionalProperty}`,
				message: "is not a known field",
			};
		case "enum":
			return {
				path,
				message: `must be one of ${error.params.allowedValues.join(", ")}`,
			};
		default:
			return { path, message: error.message ?? "is not valid" };
	}
}
