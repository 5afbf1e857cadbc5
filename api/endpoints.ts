import { checkDestination } from "./actions/destination-check.ts";
import { rotateURL } from "./actions/source-url.ts";
import { sendTestEvent } from "./events/test-event.ts";
import { eventOperations } from "./events/operations.ts";
import { exportOperations } from "./exports/operations.ts";
import type { Operation } from "./http/endpoint.ts";
import { importOperations } from "./imports/operations.ts";
import { labelSelector } from "./lists/filters.ts";
import { previewPipeline } from "./runs/preview.ts";
import { refusedOperations } from "./refused/operations.ts";
import { type ApiResource, apiResources } from "./resources/api-resource.ts";
import { createOf } from "./resources/resource-creation.ts";
import { deleteOf } from "./resources/resource-deletion.ts";
import { getOf, listOf } from "./resources/resource-read.ts";
import { replaceOf, updateOf } from "./resources/resource-update.ts";
import { getOperationLogs, getRunLogs } from "./runs/logs.ts";
import { getRunProgress } from "./runs/run-progress.ts";
import {
	cancelRun,
	getRun,
	listRuns,
	runFilters,
	startRun,
} from "./runs/runs.ts";
import { tailOperations } from "./tail/operations.ts";
import { tokenOperations } from "./tokens/operations.ts";

const listParameters = [labelSelector, "limit", "cursor"];

/** Every operation of the API. */
export const operations: Operation[] = [
	...apiResources.flatMap(operationsOf),
	...tokenOperations,
	...refusedOperations,
	...tailOperations,
	...eventOperations,
	...exportOperations,
	...importOperations,
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
		id: "sendTestEvent",
		method: "POST",
		path: "/v1/sources/{name}/test-event",
		summary: "Send a test event to a source that asks for no credential",
		tag: "sources",
		handler: sendTestEvent,
		body: { schema: "TestEvent", isRequired: false },
		answers: {
			200: {
				about: "What the sender of the event gets.",
				schema: "TestEventResult",
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
		answers: {
			200: { about: "The next runs.", schema: "PipelinePreview" },
		},
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
		answers: { 200: { about: "A page of runs.", schema: "RunList" } },
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
		answers: { 200: { about: "The run.", schema: "Run" } },
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
		answers: {
			200: { about: "The progress of the run.", schema: "RunProgress" },
		},
		errors: [404],
	},
];

function operationsOf(resource: ApiResource): Operation[] {
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
			answers: {
				200: { about: `A page of ${many}.`, schema: `${kind.kind}List` },
			},
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
