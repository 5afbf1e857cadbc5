import type { Handler } from "../handler.ts";
import { type ApiResource, apiResources } from "../resources/api-resource.ts";
import {
	createOf,
	getOf,
	listOf,
	removeOf,
	updateOf,
} from "../resources/resources.ts";
import { getRunLogs, getRunProgress } from "../runs/run-progress.ts";
import { cancelRun, getRun, listRuns, startRun } from "../runs/runs.ts";

/** One thing that the API does. The OpenAPI document and the routes both follow from these. */
export interface Operation {
	/** `operationId` in the OpenAPI document. */
	id: string;
	method: "GET" | "POST" | "PATCH" | "DELETE";
	/** As OpenAPI writes it: `/v1/runs/{name}`. */
	path: string;
	summary: string;
	/** What the operation is listed under. */
	tag: string;
	handler: Handler;
	/** Names of the query parameters in the document's components. */
	query?: string[];
	/** Name of the body's schema in the document's components. */
	body?: { schema: string; isRequired: boolean };
	/** Answers to what went well, by status; the schema's name, where there is a body. */
	answers: Record<number, { about: string; schema?: string }>;
	/** Content type of the answer, where it isn't JSON. */
	produces?: "text/plain";
	/** Statuses of the errors that this operation can have beyond those that all have. */
	errors: number[];
}

export const operations: Operation[] = [
	...apiResources.flatMap(operationsOf),
	{
		id: "startRun",
		method: "POST",
		path: "/v1/pipelines/{name}/run",
		summary: "Start a run of a pipeline",
		tag: "runs",
		handler: startRun,
		body: { schema: "RunStart", isRequired: false },
		answers: { 202: { about: "The run has begun.", schema: "Run" } },
		errors: [404, 409, 413, 415],
	},
	{
		id: "listRuns",
		method: "GET",
		path: "/v1/runs",
		summary: "List runs",
		tag: "runs",
		handler: listRuns,
		query: ["pipeline", "limit", "cursor"],
		answers: { 200: { about: "A page of runs.", schema: "RunList" } },
		errors: [410],
	},
	{
		id: "getRun",
		method: "GET",
		path: "/v1/runs/{name}",
		summary: "Show a run, or wait for its end",
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
		answers: { 202: { about: "The run is being stopped.", schema: "Run" } },
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
		answers: { 200: { about: "The last lines, as they were written." } },
		produces: "text/plain",
		errors: [404],
	},
	{
		id: "getRunProgress",
		method: "GET",
		path: "/v1/runs/{name}/progress",
		summary: "Show how far a run is",
		tag: "runs",
		handler: getRunProgress,
		answers: { 200: { about: "How far it is.", schema: "RunProgress" } },
		errors: [404],
	},
];

function operationsOf(resource: ApiResource): Operation[] {
	const { collection, kind, noun } = resource;
	const many = collection.replace("-", " ");
	const one = noun.replace("-", " ");
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
			query: ["limit", "cursor"],
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
			summary: `Make a ${one}`,
			handler: createOf(resource),
			body: { schema: `${kind.kind}Create`, isRequired: true },
			answers: { 201: answer(`The new ${one}.`) },
			errors: [404, 409, 413, 415],
		},
		{
			...shared,
			id: `get${kind.kind}`,
			method: "GET",
			path: `${path}/{name}`,
			summary: `Show a ${one}`,
			handler: getOf(resource),
			answers: { 200: answer(`The ${one}.`) },
			errors: [404],
		},
		{
			...shared,
			id: `update${kind.kind}`,
			method: "PATCH",
			path: `${path}/{name}`,
			summary: `Change a ${one}`,
			handler: updateOf(resource),
			body: { schema: `${kind.kind}Update`, isRequired: true },
			answers: { 200: answer(`The ${one} after the change.`) },
			errors: [404, 409, 412, 413, 415],
		},
		{
			...shared,
			id: `delete${kind.kind}`,
			method: "DELETE",
			path: `${path}/{name}`,
			summary: `Delete a ${one}`,
			handler: removeOf(resource),
			answers: {
				204: { about: "It is gone." },
				202: answer("It will be gone when what depends on it is cleaned up."),
			},
			errors: [404, 409, 412],
		},
	];
}
