import { Ajv2020 } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import { jsonSchema } from "../../../crds/json-schema.ts";
import { readResourceSchemas } from "../../../crds/resource-schema.ts";

/**
 * What is wrong with a spec by the CRD's schema, for tests that have no apiserver: the paths as in kubectl's messages, such as
 * `spec.dates.start`. It does not check CEL rules.
 */
export function validateSpec(
	kind: string,
	spec: unknown,
): { path: string; message: string }[] {
	const validate = validator.getSchema(kind)!;
	if (validate(spec)) return [];
	return validate.errors!.map(({ instancePath, params, message = "" }) => {
		const { missingProperty, additionalProperty } = params;
		const field: string | undefined = missingProperty ?? additionalProperty;
		const parent = instancePath
			.replaceAll(/\/(\d+)/g, "[$1]")
			.replaceAll("/", ".");
		return {
			path: `spec${parent}${field === undefined ? "" : `.${field}`}`,
			message,
		};
	});
}

const validator = new Ajv2020({ allErrors: true, allowUnionTypes: true });
ajvFormats.default(validator, ["date", "date-time"]);
for (const { kind, schema } of readResourceSchemas())
	validator.addSchema(jsonSchema(schema.properties!.spec!), kind);
