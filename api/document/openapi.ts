import type { SchemaObject } from "../../crds/json-schema.ts";
import type { Endpoint } from "../http/endpoint.ts";
import { answerExamples } from "./answer-examples.ts";
import { curlSample } from "./curl-samples.ts";
import { schemaRef } from "./fields.ts";
import { openApiSchemas } from "./openapi-schemas.ts";
import { parameters, parametersOf } from "./parameters.ts";
import { errorResponses, headers, responsesOf } from "./responses.ts";

export type OpenApiDocument = ReturnType<typeof openApiDocument>;

/** The OpenAPI 3.1 document of the whole API. */
export function openApiDocument(endpoints: Endpoint[]) {
	const schemas = openApiSchemas();
	const exampleOf = answerExamples(schemas);
	return {
		openapi: "3.1.0",
		info: {
			title: "Tidemill",
			version: "v1",
			summary: "Webhooks into your data warehouse, minutes later.",
			description:
				"Manage Tidemill without kubectl. The API and `kubectl` show the same resources, and a change through one is visible through the other.",
			license: { name: "Apache-2.0", identifier: "Apache-2.0" },
		},
		servers: [{ url: "/" }],
		security: [{ token: [] }],
		tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => ({
			name,
		})),
		paths: Object.fromEntries(
			[...new Set(endpoints.map(({ path }) => path))].map((path) => [
				path,
				pathItem(endpoints, path, schemas, exampleOf),
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
						"A Kubernetes token, from `kubectl create token <service account>` or `tidemill tokens create`. A service account's token gives access to its own account, which is its namespace. With any other token, name the account in `Tidemill-Account`.",
				},
			},
		},
	};
}

function pathItem(
	endpoints: Endpoint[],
	path: string,
	schemas: Record<string, SchemaObject>,
	exampleOf: (schema: string) => unknown,
) {
	return Object.fromEntries(
		endpoints
			.filter((endpoint) => endpoint.path === path)
			.map((endpoint) => [
				endpoint.method.toLowerCase(),
				{
					...describe(endpoints, endpoint, exampleOf),
					// Documentation pages such as Redoc and Scalar show it.
					"x-codeSamples": [
						{
							lang: "Shell",
							label: "curl",
							source: curlSample(endpoint, schemas),
						},
					],
				},
			]),
	);
}

function describe(
	endpoints: Endpoint[],
	endpoint: Endpoint,
	exampleOf: (schema: string) => unknown,
) {
	const { id, method, summary, tag, body } = endpoint;
	return {
		operationId: id,
		summary,
		tags: [tag],
		parameters: parametersOf(endpoint),
		...(body && {
			requestBody: {
				required: body.isRequired,
				content: {
					[method === "PATCH"
						? "application/merge-patch+json"
						: "application/json"]: {
						schema: schemaRef(body.schema),
					},
				},
			},
		}),
		responses: responsesOf(endpoint, endpoints, exampleOf),
	};
}
