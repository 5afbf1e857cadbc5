import type { SchemaObject } from "../../crds/json-schema.ts";
import {
	eventStates,
	maxGlimpseBytes,
} from "../../packages/contracts/stored-event.ts";
import { maxMatchLength } from "../events/content-match.ts";
import type { Endpoint } from "../http/endpoint.ts";
import { apiResources } from "../resources/api-resource.ts";
import { changeKinds } from "../resources/changes.ts";
import {
	defaultPageSize,
	labelSelector,
	maxPageSize,
} from "../resources/page.ts";
import { resourceNamePattern } from "../resources/resource-body.ts";
import { defaultLogLines, maxLogLines } from "../runs/logs.ts";
import { runFilters } from "../runs/runs.ts";
import {
	choice,
	flag,
	integer,
	type SchemaField,
	text,
	time,
} from "./fields.ts";

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

const inPath = (name: string, schema: SchemaObject, description?: string) => ({
	name,
	in: "path",
	...(description !== undefined && { description }),
	required: true,
	schema,
});
const inQuery = (
	name: string,
	{ description, example, ...schema }: SchemaField,
) => ({
	name,
	in: "query",
	description,
	schema,
	...(example !== undefined && { example }),
});
const inHeader = (...parameter: Parameters<typeof inQuery>) => ({
	...inQuery(...parameter),
	in: "header",
});
const isOff = { default: false };

/** Parameters of the query that several endpoints have, by their names. */
const inQueries: Record<string, SchemaField> = {
	limit: integer("Maximum number of items in a page.", {
		minimum: 1,
		maximum: maxPageSize,
		default: defaultPageSize,
	}),
	cursor: text(
		"The `cursor` of the previous page. Omit it for the first page.",
	),
	...Object.fromEntries(
		["pipeline", "source", "destination"].map((name) => [
			name,
			text(`Only those of this ${name}.`, { pattern: resourceNamePattern }),
		]),
	),
	to: time("Only those at this time or earlier.", {
		example: "2026-03-01T13:00:00Z",
	}),
	type: text(
		"Only events of this type, as the source's tracking plan has it.",
		{ minLength: 1, maxLength: 200 },
	),
	kinds: text(
		`Some of ${changeKinds.map((kind) => `\`${kind}\``).join(", ")}, separated by commas. By default, all that the caller may list and watch.`,
		{ example: "sources,runs" },
	),
	state: choice("Only events in this state.", eventStates),
	match: text(
		"Only events that have this value: what a JSON Pointer (RFC 6901) leads to in the body, a captured header, or a captured query parameter behind a question mark. Without `from`, of the last 24 hours. A page ends after some seconds of reading, and `reached` says how far it came. This needs the right to `get` `sources/bodies`.",
		{ maxLength: maxMatchLength, example: "/order/id=1001" },
	),
	[labelSelector]: text(
		"Only those with these labels, as in `kubectl get --selector`.",
		{ example: "team=shop" },
	),
	force: flag("Delete it although other resources use it.", isOff),
	queue: flag(
		"Accept the run although the pipeline can't run yet. It waits until the pipeline can, or until the pipeline's `pendingDeadlineSeconds` are over.",
		isOff,
	),
	dryRun: flag("Check the request and answer as if it took effect.", isOff),
	wait: text(
		"Wait until the run has ended, or for this many seconds, 60 at most.",
		{ pattern: "^([0-9]|[1-5][0-9]|60)s?$", example: "30s" },
	),
	tail: integer("Maximum number of lines.", {
		minimum: 1,
		maximum: maxLogLines,
		default: defaultLogLines,
	}),
	follow: flag("Continue with new lines until it ends.", isOff),
	from: time("Only those at this time or later.", {
		example: "2026-03-01T12:00:00Z",
	}),
	refused: flag("Also the requests that are refused.", isOff),
	loads: flag(
		"Also what each pipeline of the source did with each event.",
		isOff,
	),
	glimpse: flag(
		`Also the beginning of each body, at most ${maxGlimpseBytes} bytes. This needs the right to \`get\` \`sources/bodies\`.`,
		isOff,
	),
	body: flag(
		"Also what the body holds. This needs the right to `get` `sources/bodies`.",
		isOff,
	),
};

/** Parameters that several endpoints have. */
export const parameters = {
	name: inPath("name", { type: "string", pattern: resourceNamePattern }),
	run: inPath("name", {
		type: "string",
		pattern: "^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$",
	}),
	eventId: inPath(
		"event_id",
		{ type: "string", format: "uuid" },
		"The `event_id` that the webhook answered.",
	),
	...Object.fromEntries(
		Object.entries(inQueries).map(([name, field]) => [
			name,
			inQuery(name, field),
		]),
	),
	account: inHeader(
		"Tidemill-Account",
		text(
			"The account (namespace) of the request. Only for tokens that do not belong to a service account.",
		),
	),
	prefer: inHeader(
		"Prefer",
		text(
			"`respond-async` (RFC 7240): don't wait until the operator has checked the change. Otherwise an answer waits for that, for 5 seconds at most.",
			{ example: "respond-async" },
		),
	),
	ifMatch: inHeader(
		"If-Match",
		text(
			"The resource must still have this ETag; otherwise the answer is 412.",
			{ example: '"1-f00bbd129fb1bba4"' },
		),
	),
	idempotencyKey: inHeader(
		"Idempotency-Key",
		text("Repeating a key within 24 hours returns the existing resource.", {
			pattern: "^[ -~]{1,255}$",
		}),
	),
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
			? [inQuery(name, choice(`Only those of this ${name}.`, values))]
			: [],
	);
}
