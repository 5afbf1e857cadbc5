import { listSourceDays } from "./events/days.ts";
import { getSourceEvent } from "./events/event.ts";
import { listExportFiles } from "./events/export-files.ts";
import { listSourceEvents } from "./events/list.ts";
import { getReceipt } from "./events/receipt.ts";
import { listRefused } from "./events/refused-requests.ts";
import { sendEventAgain } from "./events/send-again.ts";
import { tailEvents } from "./events/tail.ts";
import { sendTestEvent } from "./events/test-event.ts";
import { createUploads } from "./events/upload-body.ts";
import type { Endpoint } from "./http/endpoint.ts";
import { checkDestination, rotateURL } from "./resources/actions.ts";
import { type ApiResource, apiResources } from "./resources/api-resource.ts";
import { followChanges } from "./resources/changes.ts";
import { labelSelector } from "./resources/page.ts";
import { createOf } from "./resources/resource-creation.ts";
import { deleteOf } from "./resources/resource-deletion.ts";
import { getOf, listOf } from "./resources/resource-read.ts";
import { replaceOf, updateOf } from "./resources/resource-update.ts";
import {
	createToken,
	getToken,
	listTokens,
	revokeToken,
} from "./resources/tokens.ts";
import { getOperationLogs, getRunLogs, getRunProgress } from "./runs/logs.ts";
import { previewPipeline } from "./runs/preview.ts";
import {
	cancelRun,
	getRun,
	listRuns,
	runFilters,
	startRun,
} from "./runs/runs.ts";

const ok = (about: string, schema: string) => ({ 200: { about, schema } });

const listParameters = [labelSelector, "limit", "cursor"];

/** An endpoint as it is written here: its group is the collection of its path, unless it says another. */
type EndpointRow = Omit<Endpoint, "method" | "path" | "tag"> & {
	/** Such as `GET /v1/runs/{name}`. */
	route: `${Endpoint["method"]} /v1/${string}`;
	tag?: string;
};

function endpointOf({ route, ...row }: EndpointRow): Endpoint {
	const [method, path] = route.split(" ") as [Endpoint["method"], string];
	return { tag: path.split("/")[2]!, ...row, method, path };
}

function endpointsOf(resource: ApiResource): EndpointRow[] {
	const { collection, kind, noun } = resource;
	const aNoun = `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
	const many = collection.replace("-", " ");
	const path = `/v1/${collection}` as const;
	const answer = (about: string) => ({ about, schema: kind.kind });
	return [
		{
			id: `list${kind.kind}s`,
			route: `GET ${path}`,
			summary: `List ${many}`,
			handler: listOf(resource),
			query: [...Object.keys(resource.filters), ...listParameters],
			answers: ok(`A page of ${many}.`, `${kind.kind}List`),
			errors: [410],
		},
		{
			id: `create${kind.kind}`,
			route: `POST ${path}`,
			summary: `Create ${aNoun}`,
			handler: createOf(resource),
			query: ["dryRun"],
			body: { schema: `${kind.kind}Create`, isRequired: true },
			answers: {
				200: answer(`The ${noun} that a dry run would create.`),
				201: answer(`The new ${noun}.`),
			},
			errors: [404],
		},
		{
			id: `get${kind.kind}`,
			route: `GET ${path}/{name}`,
			summary: `Show ${aNoun}`,
			handler: getOf(resource),
			answers: { 200: answer(`The ${noun}.`) },
		},
		{
			id: `replace${kind.kind}`,
			route: `PUT ${path}/{name}`,
			summary: `Replace ${aNoun}`,
			handler: replaceOf(resource),
			query: ["dryRun"],
			body: { schema: `${kind.kind}Create`, isRequired: true },
			answers: { 200: answer(`The ${noun} after the change.`) },
			errors: [412],
		},
		{
			id: `update${kind.kind}`,
			route: `PATCH ${path}/{name}`,
			summary: `Change ${aNoun}`,
			handler: updateOf(resource),
			query: ["dryRun"],
			body: { schema: `${kind.kind}Update`, isRequired: true },
			answers: { 200: answer(`The ${noun} after the change.`) },
			errors: [412],
		},
		{
			id: `delete${kind.kind}`,
			route: `DELETE ${path}/{name}`,
			summary: `Delete ${aNoun}`,
			handler: deleteOf(resource),
			query: ["force"],
			answers: {
				204: { about: "The deletion is complete." },
				202: answer("The deletion has begun and completes after a cleanup."),
			},
			errors: [409, 412],
		},
	];
}

const rows: EndpointRow[] = [
	...apiResources.flatMap(endpointsOf),
	{
		id: "listTokens",
		route: "GET /v1/tokens",
		summary: "List tokens",
		handler: listTokens,
		query: ["limit", "cursor"],
		answers: ok("A page of tokens.", "TokenList"),
		errors: [410],
	},
	{
		id: "createToken",
		route: "POST /v1/tokens",
		summary: "Create a token",
		handler: createToken,
		body: { schema: "TokenCreate", isRequired: true },
		answers: {
			201: { about: "The new token. It is shown once.", schema: "IssuedToken" },
		},
	},
	{
		id: "getToken",
		route: "GET /v1/tokens/{name}",
		summary: "Show a token, without the token itself",
		handler: getToken,
		answers: ok("The token.", "Token"),
	},
	{
		id: "revokeToken",
		route: "DELETE /v1/tokens/{name}",
		summary: "Revoke a token",
		handler: revokeToken,
		answers: { 204: { about: "The token is invalid from now on." } },
	},
	{
		id: "followChanges",
		route: "GET /v1/changes",
		summary: "Follow all resources of the account as they change",
		handler: followChanges,
		query: ["kinds"],
		answers: {
			200: {
				about:
					"Server-sent events. First `object` for each object that is there, with its `kind` and the `object` as its own path shows it; of runs and operations, the newest 500; `listed` with the `kind` after all of its objects. Then `ready`. Then `object` for what is new or has changed, `deleted` with the `kind` and the `name` for what is gone, and `end` with the reason. A slow reader gets the latest state of what changed, not each state between. This request spends none of the rate limit of others.",
			},
		},
		produces: "text/event-stream",
		hasOwnRate: true,
	},
	{
		id: "listRefusals",
		route: "GET /v1/sources/{name}/refusals",
		summary: "List the requests of the last hours that a source refused",
		handler: listRefused,
		query: ["from", "limit", "body"],
		answers: ok(
			"The refused requests that were kept, newest first.",
			"RefusedRequestList",
		),
	},
	{
		id: "tailEvents",
		route: "GET /v1/sources/{name}/events/tail",
		summary: "Follow the events of a source as they come",
		handler: tailEvents,
		query: ["refused", "body"],
		answers: {
			200: {
				about:
					"Server-sent events: `accepted` and `quarantined` for a new event, `refused` for a refused request, `left-out` for what isn't shown, `open` and `waiting` for whether archive answers, and `end` with the reason. With `Last-Event-ID` it goes on after that event, as far as the stream reaches.",
			},
		},
		produces: "text/event-stream",
		errors: [409],
	},
	{
		id: "listSourceEvents",
		route: "GET /v1/sources/{name}/events",
		summary: "List the events of a source, without their bodies",
		tag: "events",
		handler: listSourceEvents,
		query: [
			...["from", "to", "type", "state", "match"],
			...["glimpse", "loads", "limit", "cursor"],
		],
		answers: ok("A page of events.", "EventList"),
		errors: [410],
	},
	{
		id: "listSourceDays",
		route: "GET /v1/sources/{name}/days",
		summary: "Count what came to a source on each of the last 31 dates",
		tag: "events",
		handler: listSourceDays,
		answers: ok("The counts by date, the latest first.", "SourceDays"),
	},
	{
		id: "getSourceEvent",
		route: "GET /v1/sources/{name}/events/{event_id}",
		summary: "Show an event of a source",
		tag: "events",
		handler: getSourceEvent,
		query: ["body"],
		answers: ok("The event.", "Event"),
	},
	{
		id: "getEventReceipt",
		route: "GET /v1/events/{event_id}",
		summary: "Show where an event of the account is, and which runs loaded it",
		handler: getReceipt,
		answers: ok("The receipt of the event.", "EventReceipt"),
	},
	{
		id: "listExportFiles",
		route: "GET /v1/operations/{name}/files",
		summary: "List the files of an export, with links to download them",
		handler: listExportFiles,
		query: ["cursor"],
		answers: ok(
			"Files by date, and until when their links work.",
			"ExportFileList",
		),
		errors: [409],
	},
	{
		id: "createUploads",
		route: "POST /v1/uploads",
		summary: "Get links to upload files for an import",
		tag: "operations",
		handler: createUploads,
		body: { schema: "UploadCreate", isRequired: true },
		answers: ok("A link for each file that isn't there yet.", "UploadList"),
	},
	{
		id: "sendTestEvent",
		route: "POST /v1/sources/{name}/test-event",
		summary: "Send a test event to a source that asks for no credential",
		handler: sendTestEvent,
		body: { schema: "TestEvent", isRequired: false },
		answers: ok("What the sender of the event gets.", "TestEventResult"),
	},
	{
		id: "sendEventAgain",
		route: "POST /v1/sources/{name}/events/{event_id}/send-again",
		summary: "Send a stored event of a source again",
		tag: "events",
		handler: sendEventAgain,
		body: { schema: "SendAgain", isRequired: false },
		answers: ok(
			"What a sender of it would get, and what it became.",
			"SendAgainResult",
		),
	},
	{
		id: "rotateSourceURL",
		route: "POST /v1/sources/{name}/rotate-url",
		summary: "Give a source another URL, and end the old one",
		handler: rotateURL,
		answers: {
			200: { about: "The source with its new URL.", schema: "Source" },
			202: {
				about: "The source, which gets its new URL soon.",
				schema: "Source",
			},
		},
	},
	{
		id: "checkDestination",
		route: "POST /v1/destinations/{name}/check",
		summary: "Check again whether a destination can be written to",
		handler: checkDestination,
		answers: {
			200: {
				about: "The destination after the check.",
				schema: "Destination",
			},
			202: {
				about:
					"The destination. The check runs until `lastCheck.time` changes.",
				schema: "Destination",
			},
		},
	},
	{
		id: "previewPipeline",
		route: "GET /v1/pipelines/{name}/preview",
		summary: "Show when a pipeline runs next, and what it loads",
		handler: previewPipeline,
		answers: ok("The next runs.", "PipelinePreview"),
	},
	{
		id: "startRun",
		route: "POST /v1/pipelines/{name}/run",
		summary: "Start a run of a pipeline",
		tag: "runs",
		handler: startRun,
		query: ["queue"],
		body: { schema: "RunStart", isRequired: false },
		answers: { 202: { about: "The new run.", schema: "Run" } },
	},
	{
		id: "listRuns",
		route: "GET /v1/runs",
		summary: "List runs",
		handler: listRuns,
		query: [...Object.keys(runFilters), "from", "to", ...listParameters],
		answers: ok("A page of runs.", "RunList"),
		errors: [410],
	},
	{
		id: "getRun",
		route: "GET /v1/runs/{name}",
		summary: "Show a run, or wait until it ends",
		handler: getRun,
		query: ["wait"],
		answers: ok("The run.", "Run"),
	},
	{
		id: "getRunLogs",
		route: "GET /v1/runs/{name}/logs",
		summary: "Read a run's log",
		handler: getRunLogs,
		query: ["tail", "follow"],
		answers: { 200: { about: "The last lines of the log, unchanged." } },
		produces: "text/plain",
	},
	{
		id: "getOperationLogs",
		route: "GET /v1/operations/{name}/logs",
		summary: "Read an operation's log",
		handler: getOperationLogs,
		query: ["tail", "follow"],
		answers: { 200: { about: "The last lines of the log, unchanged." } },
		produces: "text/plain",
	},
	{
		id: "getRunProgress",
		route: "GET /v1/runs/{name}/progress",
		summary: "Show the progress of a run",
		handler: getRunProgress,
		answers: ok("The progress of the run.", "RunProgress"),
	},
	{
		id: "cancelRun",
		route: "POST /v1/runs/{name}/cancel",
		summary: "Cancel a run",
		handler: cancelRun,
		answers: { 202: { about: "The run, which stops soon.", schema: "Run" } },
	},
];

/** Every endpoint of the API. */
export const endpoints: Endpoint[] = rows.map(endpointOf);
