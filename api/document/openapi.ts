import type { JsonSchema } from "../../crds/json-schema.ts";
import type { Operation } from "../http/endpoint.ts";
import { curlSample } from "./curl-sample.ts";
import { openApiSchemas } from "./openapi-schemas.ts";
import { parameters, parametersOf } from "./parameters.ts";
import { errorResponses, headers, responsesOf } from "./responses.ts";

export type OpenApiDocument = ReturnType<typeof openApiDocument>;

/** The OpenAPI 3.1 document of the whole API. */
export function openApiDocument(operations: Operation[]) {
	const schemas = openApiSchemas();
	return {
		openapi: "3.1.0",
		info: {
			title: "Tidemill",
			version: "v1",
			summary: "Webhooks into your data warehouse, day by day.",
			description:
				"Manage Tidemill without kubectl. The API and `kubectl` show the same resources, and a change through one is visible through the other.",
			license: { name: "Apache-2.0", identifier: "Apache-2.0" },
		},
		servers: [{ url: "/" }],
		security: [{ token: [] }],
		tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({
			name,
		})),
		paths: Object.fromEntries(
			[...new Set(operations.map(({ path }) => path))].map((path) => [
				path,
				pathItem(operations, path, schemas),
			]),
		),
		components: {
			schemas,
			parameters,
			headers,
			responses: errorResponses(),
			securitySchemes: {
				token: {
					type: "http",
					scheme: "bearer",
					description:
						"A Kubernetes token, from `kubectl create token <service account>` or `tidemill tokens create`. A service account's token gives access to its own namespace. With any other token, name the namespace in `Tidemill-Account`.",
				},
			},
		},
	};
}

function pathItem(
	operations: Operation[],
	path: string,
	schemas: Record<string, JsonSchema>,
) {
	return Object.fromEntries(
		operations
			.filter((operation) => operation.path === path)
			.map((operation) => [
				operation.method.toLowerCase(),
				{
					...describe(operations, operation),
					// Documentation pages such as Redoc and Scalar show it.
					"x-codeSamples": [
						{
							lang: "Shell",
							label: "curl",
							source: curlSample(operation, schemas),
						},
					],
				},
			]),
	);
}

function describe(operations: Operation[], operation: Operation) {
	const { id, method, summary, tag, body } = operation;
	return {
		operationId: id,
		summary,
		tags: [tag],
		parameters: parametersOf(operation),
		...(body && {
			requestBody: {
				required: body.isRequired,
				content: {
					[method === "PATCH"
						? "application/merge-patch+json"
						: "application/json"]: {
						schema: { $ref: `#/components/schemas/${body.schema}` },
					},
				},
			},
		}),
		responses: responsesOf(operation, operations),
	};
}
