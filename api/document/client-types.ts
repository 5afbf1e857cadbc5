import type { JsonSchema } from "../../crds/json-schema.ts";
import { openApiSchemas } from "./openapi-schemas.ts";
import { type Operation, operations } from "./operations.ts";

/** The text of generated/client-types.ts, for who writes a client in TypeScript: a type for each body, and what each operation takes and answers. */
export function clientTypesText(): string {
	const bodies = Object.entries(openApiSchemas()).map(
		([name, schema]) =>
			`${docstring(schema, "")}export type ${name} = ${typeText(schema, "")};\n`,
	);
	return `// Generated from the CRDs and the API's operations by "npm run unit -- operator/api/reference-page -u". Change those instead.

${bodies.join("\n")}
/** What each operation takes and answers, by its operationId. */
export interface Operations {
${operations.map(operationText).join("\n")}
}
`;
}

function operationText(operation: Operation): string {
	const { id, method, path, summary, query = [], body, answers } = operation;
	const schemas = Object.values(answers).map(({ schema }) => schema ?? "void");
	const answer = operation.produces ? "string" : schemas.join(" | ");
	const parameters = query.map((name) => `${name}?: string`);
	return `	/** ${summary}. */
	${id}: {
		method: ${JSON.stringify(method)};
		path: ${JSON.stringify(path)};
		query: { ${parameters.join("; ")} };
		body: ${body ? `${body.schema}${body.isRequired ? "" : " | undefined"}` : "undefined"};
		answer: ${answer};
	};`;
}

function typeText(schema: JsonSchema, indent: string): string {
	const { $ref, enum: values, type, items, properties } = schema;
	if (typeof $ref === "string") return $ref.split("/").at(-1)!;
	if (schema.const !== undefined) return JSON.stringify(schema.const);
	if (Array.isArray(values))
		return values.map((value) => JSON.stringify(value)).join(" | ");
	const names = [type].flat() as (string | undefined)[];
	return names
		.map((name) => {
			if (name === "array")
				return `Array<${typeText(items as JsonSchema, indent)}>`;
			if (name === "integer") return "number";
			if (name !== "object") return name ?? "unknown";
			if (properties) return objectText(schema, indent);
			const { additionalProperties: values } = schema;
			return typeof values === "object" && values !== null
				? `Record<string, ${typeText(values as JsonSchema, indent)}>`
				: "Record<string, unknown>";
		})
		.join(" | ");
}

function objectText(schema: JsonSchema, indent: string): string {
	const required = (schema.required ?? []) as string[];
	const inner = `${indent}\t`;
	const fields = Object.entries(
		schema.properties as Record<string, JsonSchema>,
	).map(
		([name, field]) =>
			`${docstring(field, inner)}${inner}${name}${required.includes(name) ? "" : "?"}: ${typeText(field, inner)};\n`,
	);
	return `{\n${fields.join("")}${indent}}`;
}

function docstring({ description }: JsonSchema, indent: string): string {
	return description ? `${indent}/** ${description} */\n` : "";
}
