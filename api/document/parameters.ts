import { eventStates } from "../../packages/contracts/stored-event.ts";
import type { Endpoint } from "../http/endpoint.ts";
import { apiResources } from "../resources/api-resource.ts";
import {
	defaultPageSize,
	labelSelector,
	maxPageSize,
} from "../resources/page.ts";
import { resourceNamePattern } from "../resources/resource-body.ts";
import { defaultLogLines, maxLogLines } from "../runs/logs.ts";
import { runFilters } from "../runs/runs.ts";

/** The parameters of an endpoint: those of the path, the query and the headers. */
export function parametersOf(endpoint: Endpoint): object[] {
	const filters = filterParameters(endpoint);
	// A filter may have the name of a parameter that other endpoints share.
	const own = new Set(filters.map(({ name }) => name));
	return [
		...sharedParameters(endpoint)
			.filter((name) => !own.has(name))
			.map((name) => ({ $ref: `#/components/parameters/${name}` })),
		...filters,
	];
}

/** Parameters that several endpoints have. */
export const parameters = {
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
	eventId: {
		name: "event_id",
		in: "path",
		description: "The `event_id` that the webhook answered.",
		required: true,
		schema: { type: "string", format: "uuid" },
	},
	to: {
		name: "to",
		in: "query",
		description: "Only those at this time or earlier.",
		schema: { type: "string", format: "date-time" },
		example: "2026-03-01T13:00:00Z",
	},
	type: {
		name: "type",
		in: "query",
		description:
			"Only events of this type, as the source's tracking plan has it.",
		schema: { type: "string", minLength: 1, maxLength: 200 },
	},
	state: {
		name: "state",
		in: "query",
		description: "Only events in this state.",
		schema: { type: "string", enum: eventStates },
	},
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
	from: {
		name: "from",
		in: "query",
		description: "Only those at this time or later.",
		schema: { type: "string", format: "date-time" },
		example: "2026-03-01T12:00:00Z",
	},
	refused: {
		name: "refused",
		in: "query",
		description: "Also the requests that are refused.",
		schema: { type: "boolean", default: false },
	},
	body: {
		name: "body",
		in: "query",
		description:
			"Also what the body holds. This needs the right to `get` `sources/bodies`.",
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
			"`respond-async` (RFC 7240): don't wait until the operator has checked the change. Otherwise an answer waits for that, for 5 seconds at most.",
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

function sharedParameters(endpoint: Endpoint): string[] {
	const { method, path, tag, query = [] } = endpoint;
	const shared = query.filter((name) => name in parameters);
	const names = ["account", ...shared];
	if (path.includes("{event_id}")) names.unshift("eventId");
	if (path.includes("{name}"))
		names.unshift(path.startsWith("/v1/runs") ? "run" : "name");
	const isResource = tag !== "tokens";
	if (["PUT", "PATCH", "DELETE"].includes(method) && isResource)
		names.push("ifMatch");
	if (method !== "GET" && !path.startsWith("/v1/runs") && isResource)
		names.push("prefer");
	if (method === "POST") names.push("idempotencyKey");
	return names;
}

/** A filter has the values of its own kind. */
function filterParameters({ tag, query = [] }: Endpoint) {
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
