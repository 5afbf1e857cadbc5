import { listSourceDays } from "./events/days.ts";
import { getSourceEvent } from "./events/event.ts";
import { listExportFiles } from "./events/export-files.ts";
import { listSourceEvents } from "./events/list.ts";
import { getReceipt } from "./events/receipt.ts";
import { listRefused } from "./events/refused-requests.ts";
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

function endpointsOf(resource: ApiResource): Endpoint[] {
	const { collection, kind, noun } = resource;
	const aNoun = `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
	const many = collection.replace("-", " ");
	const path = `/v1/${collection}`;
	const shared = { tag: collection };
	const answer = (about: string) => ({ about, schema: kind.kind });
	return [
		{
			...shared,
			id: `list${kind.kind}s`,
			method: "GET",
			path,
			summary: `List ${many}`,
			handler: listOf(resource),
			query: [...Object.keys(resource.filters), ...listParameters],
			answers: ok(`A page of ${many}.`, `${kind.kind}List`),
			errors: [410],
		},
		{
			...shared,
			id: `create${kind.kind}`,
			method: "POST",
			path,
			summary: `Create ${aNoun}`,
			handler: createOf(resource),
			query: ["dryRun"],
			body: { schema: `${kind.kind}Create`, isRequired: true },
			answers: {
				200: answer(`The ${noun} that a dry run would create.`),
				201: answer(`The new ${noun}.`),
			},
			errors: [404, 409, 413, 415],
		},
		{
			...shared,
			id: `get${kind.kind}`,
			method: "GET",
			path: `${path}/{name}`,
			summary: `Show ${aNoun}`,
			handler: getOf(resource),
			answers: { 200: answer(`The ${noun}.`) },
			errors: [404],
		},
		{
			...shared,
			id: `replace${kind.kind}`,
			method: "PUT",
			path: `${path}/{name}`,
			summary: `Replace ${aNoun}`,
			handler: replaceOf(resource),
			query: ["dryRun"],
			body: { schema: `${kind.kind}Create`, isRequired: true },
			answers: { 200: answer(`The ${noun} after the change.`) },
			errors: [404, 409, 412, 413, 415],
		},
		{
			...shared,
			id: `update${kind.kind}`,
			method: "PATCH",
			path: `${path}/{name}`,
			summary: `Change ${aNoun}`,
			handler: updateOf(resource),
			query: ["dryRun"],
			body: { schema: `${kind.kind}Update`, isRequired: true },
			answers: { 200: answer(`The ${noun} after the change.`) },
			errors: [404, 409, 412, 413, 415],
		},
		{
			...shared,
			id: `delete${kind.kind}`,
			method: "DELETE",
			path: `${path}/{name}`,
			summary: `Delete ${aNoun}`,
			handler: deleteOf(resource),
			query: ["force"],
			answers: {
				204: { about: "The deletion is complete." },
				202: answer("The deletion has begun and completes after a cleanup."),
			},
			errors: [404, 409, 412],
		},
	];
}

/** Every endpoint of the API. */
export const endpoints: Endpoint[] = [
	...apiResources.flatMap(endpointsOf),
	{
		id: "listTokens",
		method: "GET",
		path: "/v1/tokens",
		summary: "List tokens",
		tag: "tokens",
		handler: listTokens,
		query: ["limit", "cursor"],
		answers: ok("A page of tokens.", "TokenList"),
		errors: [410],
	},
	{
		id: "createToken",
		method: "POST",
		path: "/v1/tokens",
		summary: "Create a token",
		tag: "tokens",
		handler: createToken,
		body: { schema: "TokenCreate", isRequired: true },
		answers: {
			201: { about: "The new token. It is shown once.", schema: "IssuedToken" },
		},
		errors: [409, 413, 415],
	},
	{
		id: "getToken",
		method: "GET",
		path: "/v1/tokens/{name}",
		summary: "Show a token, without the token itself",
		tag: "tokens",
		handler: getToken,
		answers: ok("The token.", "Token"),
		errors: [404],
	},
	{
		id: "revokeToken",
		method: "DELETE",
		path: "/v1/tokens/{name}",
		summary: "Revoke a token",
		tag: "tokens",
		handler: revokeToken,
		answers: { 204: { about: "The token is invalid from now on." } },
		errors: [404],
	},
	{
		id: "followChanges",
		method: "GET",
		path: "/v1/changes",
		summary: "Follow all resources of the account as they change",
		tag: "changes",
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
		errors: [],
	},
	{
		id: "listRefusals",
		method: "GET",
		path: "/v1/sources/{name}/refusals",
		summary: "List the requests of the last hours that a source refused",
		tag: "sources",
		handler: listRefused,
		query: ["from", "limit", "body"],
		answers: ok(
			"The refused requests that were kept, newest first.",
			"RefusedRequestList",
		),
		errors: [],
	},
	{
		id: "tailEvents",
		method: "GET",
		path: "/v1/sources/{name}/events/tail",
		summary: "Follow the events of a source as they come",
		tag: "sources",
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
		method: "GET",
		path: "/v1/sources/{name}/events",
		summary: "List the events of a source, without their bodies",
		tag: "events",
		handler: listSourceEvents,
		query: ["from", "to", "type", "state", "loads", "limit", "cursor"],
		answers: ok("A page of events.", "EventList"),
		errors: [404, 410],
	},
	{
		id: "listSourceDays",
		method: "GET",
		path: "/v1/sources/{name}/days",
		summary: "Count what came to a source on each of the last 31 dates",
		tag: "events",
		handler: listSourceDays,
		answers: ok("The counts by date, the latest first.", "SourceDays"),
		errors: [404],
	},
	{
		id: "getSourceEvent",
		method: "GET",
		path: "/v1/sources/{name}/events/{event_id}",
		summary: "Show an event of a source",
		tag: "events",
		handler: getSourceEvent,
		query: ["body"],
		answers: ok("The event.", "Event"),
		errors: [404],
	},
	{
		id: "getEventReceipt",
		method: "GET",
		path: "/v1/events/{event_id}",
		summary: "Show where an event of the account is, and which runs loaded it",
		tag: "events",
		handler: getReceipt,
		answers: ok("The receipt of the event.", "EventReceipt"),
		errors: [404],
	},
	{
		id: "listExportFiles",
		method: "GET",
		path: "/v1/operations/{name}/files",
		summary: "List the files of an export, with links to download them",
		tag: "operations",
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
		method: "POST",
		path: "/v1/uploads",
		summary: "Get links to upload files for an import",
		tag: "operations",
		handler: createUploads,
		body: { schema: "UploadCreate", isRequired: true },
		answers: ok("A link for each file that isn't there yet.", "UploadList"),
		errors: [409, 413, 415],
	},
	{
		id: "sendTestEvent",
		method: "POST",
		path: "/v1/sources/{name}/test-event",
		summary: "Send a test event to a source that asks for no credential",
		tag: "sources",
		handler: sendTestEvent,
		body: { schema: "TestEvent", isRequired: false },
		answers: ok("What the sender of the event gets.", "TestEventResult"),
		errors: [404, 409, 413, 415],
	},
	{
		id: "rotateSourceURL",
		method: "POST",
		path: "/v1/sources/{name}/rotate-url",
		summary: "Give a source another URL, and end the old one",
		tag: "sources",
		handler: rotateURL,
		answers: {
			200: { about: "The source with its new URL.", schema: "Source" },
			202: {
				about: "The source, which gets its new URL soon.",
				schema: "Source",
			},
		},
		errors: [404, 409, 413, 415],
	},
	{
		id: "checkDestination",
		method: "POST",
		path: "/v1/destinations/{name}/check",
		summary: "Check again whether a destination can be written to",
		tag: "destinations",
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
		errors: [404, 409, 413, 415],
	},
	{
		id: "previewPipeline",
		method: "GET",
		path: "/v1/pipelines/{name}/preview",
		summary: "Show when a pipeline runs next, and what it loads",
		tag: "pipelines",
		handler: previewPipeline,
		answers: ok("The next runs.", "PipelinePreview"),
		errors: [404],
	},
	{
		id: "startRun",
		method: "POST",
		path: "/v1/pipelines/{name}/run",
		summary: "Start a run of a pipeline",
		tag: "runs",
		handler: startRun,
		query: ["queue"],
		body: { schema: "RunStart", isRequired: false },
		answers: { 202: { about: "The new run.", schema: "Run" } },
		errors: [404, 409, 413, 415],
	},
	{
		id: "listRuns",
		method: "GET",
		path: "/v1/runs",
		summary: "List runs",
		tag: "runs",
		handler: listRuns,
		query: [...Object.keys(runFilters), ...listParameters],
		answers: ok("A page of runs.", "RunList"),
		errors: [410],
	},
	{
		id: "getRun",
		method: "GET",
		path: "/v1/runs/{name}",
		summary: "Show a run, or wait until it ends",
		tag: "runs",
		handler: getRun,
		query: ["wait"],
		answers: ok("The run.", "Run"),
		errors: [404],
	},
	{
		id: "getRunLogs",
		method: "GET",
		path: "/v1/runs/{name}/logs",
		summary: "Read a run's log",
		tag: "runs",
		handler: getRunLogs,
		query: ["tail", "follow"],
		answers: { 200: { about: "The last lines of the log, unchanged." } },
		produces: "text/plain",
		errors: [404],
	},
	{
		id: "getOperationLogs",
		method: "GET",
		path: "/v1/operations/{name}/logs",
		summary: "Read an operation's log",
		tag: "operations",
		handler: getOperationLogs,
		query: ["tail", "follow"],
		answers: { 200: { about: "The last lines of the log, unchanged." } },
		produces: "text/plain",
		errors: [404],
	},
	{
		id: "getRunProgress",
		method: "GET",
		path: "/v1/runs/{name}/progress",
		summary: "Show the progress of a run",
		tag: "runs",
		handler: getRunProgress,
		answers: ok("The progress of the run.", "RunProgress"),
		errors: [404],
	},
	{
		id: "cancelRun",
		method: "POST",
		path: "/v1/runs/{name}/cancel",
		summary: "Cancel a run",
		tag: "runs",
		handler: cancelRun,
		answers: { 202: { about: "The run, which stops soon.", schema: "Run" } },
		errors: [404, 409, 413, 415],
	},
];
