import type { Endpoint } from "../http/endpoint.ts";
import {
	type ErrorCode,
	errorCodes,
	maxDetails,
	problemType,
} from "../http/errors.ts";
import { choice, integer, list, object, schemaRef, text } from "./fields.ts";

/** The responses of an endpoint by status: its answers, then its errors. */
export function responsesOf(
	endpoint: Endpoint,
	endpoints: Endpoint[],
	exampleOf: (schema: string) => unknown,
) {
	const { method, path, answers, errors = [] } = endpoint;
	return {
		...Object.fromEntries(
			Object.entries(answers).map(([status, { about, schema }]) => [
				status,
				{
					description: about,
					headers: headersOf(endpoint, schema),
					...contentOf(endpoint, schema, exampleOf),
					...(status !== "200" && linksOf(endpoints, endpoint, schema)),
				},
			]),
		),
		...Object.fromEntries(
			[
				...[...commonErrors, ...errors],
				...(path.includes("{") ? [404] : []),
				...(["GET", "DELETE"].includes(method) ? [] : [409, 413, 415]),
			].map((status) => [
				status,
				{ $ref: `#/components/responses/Error${status}` },
			]),
		),
	};
}

const texts = {
	"text/plain": {
		schema: { type: "string" },
		example:
			'{"level":"info","time":"2026-03-01T12:00:01.204Z","msg":"Loaded 2 rows of 2026-03-01."}\n',
	},
	// Of each event: what a stream is as a whole, OpenAPI 3.1 can't say.
	"text/event-stream": {
		schema: {
			type: "object",
			properties: {
				event: { type: "string" },
				data: { type: "string", contentMediaType: "application/json" },
				id: { type: "string" },
				retry: { type: "integer" },
			},
		},
		example: "event: ready\ndata: {}\n\n",
	},
};

/** The error responses by name, one for each status. */
export function errorResponses() {
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
				content: { [problemType]: { schema: schemaRef("Problem") } },
			},
		]),
	);
}

/** Error statuses of every endpoint. */
const commonErrors = [400, 401, 403, 406, 408, 429, 431, 500, 503];

const commonHeaders = [
	"X-Request-Id",
	"X-RateLimit-Limit",
	"X-RateLimit-Remaining",
	"X-RateLimit-Reset",
];

export const headers = {
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

function headersOf({ id }: Endpoint, schema: string | undefined) {
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
	{ produces }: Endpoint,
	schema: string | undefined,
	exampleOf: (schema: string) => unknown,
): object {
	if (produces) return { content: { [produces]: texts[produces] } };
	if (!schema) return {};
	return {
		content: {
			"application/json": {
				schema: schemaRef(schema),
				example: exampleOf(schema),
			},
		},
	};
}

/** Links to the endpoints on a new object, for readers and for tests that follow links. */
function linksOf(
	endpoints: Endpoint[],
	{ method, path }: Endpoint,
	schema: string | undefined,
) {
	if (method !== "POST" || !schema) return {};
	const collection = schema === "Run" ? "/v1/runs" : path;
	return {
		links: Object.fromEntries(
			endpoints
				.filter((next) => next.path.startsWith(`${collection}/{name}`))
				.map(({ id }) => [
					id,
					{ operationId: id, parameters: { name: "$response.body#/name" } },
				]),
		),
	};
}

function codesOf(status: number): ErrorCode[] {
	return (Object.keys(errorCodes) as ErrorCode[]).filter(
		(code) => errorCodes[code].status === status,
	);
}

function header(description: string, type: "string" | "integer" = "integer") {
	return { description, schema: { type } };
}

/** The body of every error. */
export const problemSchema = object(
	"An error: what is wrong and what to do next, as problem details (RFC 9457).",
	{
		type: text("Where the error is explained.", { format: "uri-reference" }),
		title: text("What is wrong, in general."),
		status: integer("The HTTP status."),
		detail: text("What is wrong with this request and what to do next."),
		"instance?": text("The `X-Request-Id`, as a URN.", {
			format: "uri-reference",
		}),
		code: choice("For programs. Codes never change.", Object.keys(errorCodes)),
		details: list(
			`All invalid fields, if fields are invalid, ${maxDetails} at most.`,
			object(undefined, {
				path: text(
					"A field of the body, such as `dates.start`, or a query parameter or header.",
				),
				message: { type: "string" },
			}),
			{ maxItems: maxDetails },
		),
	},
);
