import { type ErrorCode, errorCodes, problemType } from "../http/errors.ts";
import type { Operation } from "../http/operation.ts";
import { labelSelector } from "../lists/filters.ts";
import { defaultPageSize, maxPageSize } from "../lists/page.ts";
import { apiResources } from "../resources/api-resource.ts";
import { resourceNamePattern } from "../resources/resource-name.ts";
import { defaultLogLines, maxLogLines } from "../runs/run-progress.ts";
import { runFilters } from "../runs/runs.ts";
import { openApiSchemas } from "./openapi-schemas.ts";

export type OpenApiDocument = ReturnType<typeof openApiDocument>;

/** The OpenAPI 3.1 document of the whole API. */
export function openApiDocument(operations: Operation[]) {
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
				pathItem(operations, path),
			]),
		),
		components: {
			schemas: openApiSchemas(),
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

/** Error statuses of every operation. */
const commonErrors = [400, 401, 403, 406, 408, 429, 431, 500, 503];

const parameters = {
	name: {
		name: "name",
		in: "path",
		required: true,
		schema: { type: "string", pattern: resourceNamePattern },
	},
	run: {
		name: "name",
		in: "path",
		required: true,
		schema: {
			type: "string",
			pattern: "^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$",
		},
	},
	limit: {
		name: "limit",
		in: "query",
		description: "Maximum number of items in a page.",
		schema: {
			type: "integer",
			minimum: 1,
			maximum: maxPageSize,
			default: defaultPageSize,
		},
	},
	cursor: {
		name: "cursor",
		in: "query",
		description:
			"The `cursor` of the previous page. Omit it for the first page.",
		schema: { type: "string" },
	},
	...Object.fromEntries(
		["pipeline", "source", "destination"].map((name) => [
			name,
			{
				name,
				in: "query",
				description: `Only those of this ${name}.`,
				schema: { type: "string", pattern: resourceNamePattern },
			},
		]),
	),
	labelSelector: {
		name: labelSelector,
		in: "query",
		description:
			"Only those with these labels, as in `kubectl get --selector`.",
		schema: { type: "string" },
		example: "team=shop",
	},
	force: {
		name: "force",
		in: "query",
		description: "Delete it although other resources use it.",
		schema: { type: "boolean", default: false },
	},
	queue: {
		name: "queue",
		in: "query",
		description:
			"Accept the run although the pipeline can't run yet. It waits until the pipeline can, or until the pipeline's `pendingDeadlineSeconds` are over.",
		schema: { type: "boolean", default: false },
	},
	dryRun: {
		name: "dryRun",
		in: "query",
		description: "Check the request and answer as if it took effect.",
		schema: { type: "boolean", default: false },
	},
	wait: {
		name: "wait",
		in: "query",
		description:
			"Wait until the run has ended, or for this many seconds, 60 at most.",
		schema: { type: "string", pattern: "^([0-9]|[1-5][0-9]|60)s?$" },
		example: "30s",
	},
	tail: {
		name: "tail",
		in: "query",
		description: "Maximum number of lines.",
		schema: {
			type: "integer",
			minimum: 1,
			maximum: maxLogLines,
			default: defaultLogLines,
		},
	},
	follow: {
		name: "follow",
		in: "query",
		description: "Continue with new lines until the run ends.",
		schema: { type: "boolean", default: false },
	},
	account: {
		name: "Tidemill-Account",
		in: "header",
		description:
			"The account (namespace) of the request. Only for tokens that do not belong to a service account.",
		schema: { type: "string" },
	},
	prefer: {
		name: "Prefer",
		in: "header",
		description:
			"`respond-async` (RFC 7240): don't wait until the operator has judged the change. Otherwise an answer waits for that, for 5 seconds at most.",
		schema: { type: "string" },
		example: "respond-async",
	},
	ifMatch: {
		name: "If-Match",
		in: "header",
		description:
			"The resource must still have this ETag; otherwise the answer is 412.",
		schema: { type: "string" },
		example: '"1"',
	},
	idempotencyKey: {
		name: "Idempotency-Key",
		in: "header",
		description:
			"Repeating a key within 24 hours returns the existing resource.",
		schema: { type: "string", pattern: "^[ -~]{1,255}$" },
	},
};

const commonHeaders = [
	"X-Request-Id",
	"X-RateLimit-Limit",
	"X-RateLimit-Remaining",
	"X-RateLimit-Reset",
];

const headers = {
	"X-Request-Id": header(
		"Identifies the request in the log of the API.",
		"string",
	),
	"X-RateLimit-Limit": header("Requests allowed in a minute."),
	"X-RateLimit-Remaining": header("Requests left in this minute."),
	"X-RateLimit-Reset": header("Seconds until the count restarts."),
	ETag: header("Increases with every change of the resource's spec.", "string"),
	Location: header("Path of the new resource.", "string"),
	"Retry-After": header("Seconds to wait before a retry."),
};

function pathItem(operations: Operation[], path: string) {
	return Object.fromEntries(
		operations
			.filter((operation) => operation.path === path)
			.map((operation) => [
				operation.method.toLowerCase(),
				describe(operations, operation),
			]),
	);
}

function describe(operations: Operation[], operation: Operation) {
	const { id, method, path, summary, tag, body, answers, errors } = operation;
	return {
		operationId: id,
		summary,
		tags: [tag],
		parameters: [
			...parametersOf(operation).map((name) => ({
				$ref: `#/components/parameters/${name}`,
			})),
			...filterParameters(operation),
		],
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
		responses: {
			...Object.fromEntries(
				Object.entries(answers).map(([status, { about, schema }]) => [
					status,
					{
						description: about,
						headers: headersOf(operation, schema),
						...contentOf(operation, schema),
						...(status !== "200" && linksOf(operations, operation, schema)),
					},
				]),
			),
			...Object.fromEntries(
				[...commonErrors, ...errors, ...(path.includes("{") ? [404] : [])].map(
					(status) => [
						status,
						{ $ref: `#/components/responses/Error${status}` },
					],
				),
			),
		},
	};
}

/** A filter has the values of its own kind. */
function filterParameters({ tag, query = [] }: Operation) {
	const filters =
		tag === "runs"
			? runFilters
			: (apiResources.find(({ collection }) => collection === tag)?.filters ??
				{});
	return Object.entries(filters).flatMap(([name, { values }]) =>
		values && query.includes(name)
			? [
					{
						name,
						in: "query",
						description: `Only those of this ${name}.`,
						schema: { type: "string", enum: values },
					},
				]
			: [],
	);
}

function parametersOf({ method, path, query = [] }: Operation): string[] {
	const shared = query.filter((name) => name in parameters);
	const names = ["account", ...shared];
	if (path.includes("{name}"))
		names.unshift(path.startsWith("/v1/runs") ? "run" : "name");
	if (["PUT", "PATCH", "DELETE"].includes(method)) names.push("ifMatch");
	if (method !== "GET" && !path.startsWith("/v1/runs")) names.push("prefer");
	if (method === "POST") names.push("idempotencyKey");
	return names;
}

function headersOf({ id }: Operation, schema: string | undefined) {
	const names = [...commonHeaders];
	if (
		schema &&
		/^(Source|Destination|Pipeline|TrackingPlan|Operation)$/.test(schema)
	)
		names.push("ETag");
	if (id === "startRun" || id.startsWith("create")) names.push("Location");
	return headerRefs(names);
}

function headerRefs(names: string[]) {
	return Object.fromEntries(
		names.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
	);
}

function contentOf(
	{ produces }: Operation,
	schema: string | undefined,
): object {
	if (produces)
		return { content: { [produces]: { schema: { type: "string" } } } };
	if (!schema) return {};
	return {
		content: {
			"application/json": {
				schema: { $ref: `#/components/schemas/${schema}` },
			},
		},
	};
}

/** Links to the operations on a new object, for readers and for tests that follow links. */
function linksOf(
	operations: Operation[],
	{ method, path }: Operation,
	schema: string | undefined,
) {
	if (method !== "POST" || !schema) return {};
	const collection = schema === "Run" ? "/v1/runs" : path;
	return {
		links: Object.fromEntries(
			operations
				.filter((next) => next.path.startsWith(`${collection}/{name}`))
				.map(({ id }) => [
					id,
					{ operationId: id, parameters: { name: "$response.body#/name" } },
				]),
		),
	};
}

function errorResponses() {
	const statuses = [
		...new Set(Object.values(errorCodes).map(({ status }) => status)),
	];
	return Object.fromEntries(
		statuses.map((status) => [
			`Error${status}`,
			{
				description: codesOf(status)
					.map((code) => `\`${code}\``)
					.join(" or "),
				headers: headerRefs([
					...commonHeaders,
					...(status === 429 || status === 503 ? ["Retry-After"] : []),
				]),
				content: {
					[problemType]: {
						schema: { $ref: "#/components/schemas/Problem" },
					},
				},
			},
		]),
	);
}

function codesOf(status: number): ErrorCode[] {
	return (Object.keys(errorCodes) as ErrorCode[]).filter(
		(code) => errorCodes[code].status === status,
	);
}

function header(description: string, type: "string" | "integer" = "integer") {
	return { description, schema: { type } };
}
