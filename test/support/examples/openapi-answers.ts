// ajv: the validator that the API itself judges by.
import { Ajv2020 } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import type { OpenApiDocument } from "../../../api/document/openapi.ts";
import type { Operation } from "../../../api/http/operation.ts";
import { type ApiAnswer, ask } from "../fixtures/api-fixture.ts";

/** Returns what is wrong with an answer by the OpenAPI document of the API at this address: nothing, for a good one. */
export async function answerValidator(
	url: string,
): Promise<(operation: Operation, answer: ApiAnswer) => unknown[]> {
	const { body } = await ask(`${url}/v1/openapi.json`);
	const document = body as unknown as OpenApiDocument;
	const schemas = schemaValidators(document);
	return ({ id, path, method }, { status, headers, body }) => {
		const described = (
			document.paths as Record<string, Record<string, Described>>
		)[path]?.[method.toLowerCase()];
		const named = described?.responses[status];
		if (!named) return [`${id} has no answer ${status}`];
		const { content } = named.$ref
			? (document.components.responses[named.$ref.split("/").at(-1)!] as Answer)
			: named;
		const type = headers.get("content-type")?.split(";")[0];
		if (!content) return type ? [`${id} ${status} has a body`] : [];
		const schema = content[type ?? ""]?.schema;
		if (!schema) return [`${id} ${status} is ${type}`];
		if (!schema.$ref) return [];
		const validate = schemas(schema.$ref.split("/").at(-1)!);
		return validate(body) ? [] : validate.errors!;
	};
}

/** Validators of the schemas in the document's components, by name. */
export function schemaValidators(document: OpenApiDocument) {
	const ajv = new Ajv2020({ strict: false, allErrors: true });
	ajvFormats.default(ajv);
	ajv.addSchema({ $id: "document", ...document });
	return (schema: string) =>
		ajv.getSchema(`document#/components/schemas/${schema}`)!;
}

interface Described {
	responses: Record<string, Answer>;
}

interface Answer {
	$ref?: string;
	content?: Record<string, { schema: { $ref?: string } }>;
}
