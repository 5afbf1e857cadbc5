import type { TableReference } from "../../../../packages/warehouses/bigquery/load/rest/google-refusal.ts";
import { type Answer, type Api, type Call, jsonOf } from "./call.ts";
import { objectRoute, uploadRoute } from "./data-routes.ts";
import { queryRoute } from "./external-tables.ts";
import { Fault, invalid, notFound, requireKnown } from "./fault.ts";
import { permissionsFor } from "./permissions.ts";
import { datasetResource, jobResource, tableResource } from "./resources.ts";
import { listRows } from "./rows.ts";

/** Answers a request, or throws a {@link Fault}. */
export async function route(api: Api, call: Call): Promise<Answer> {
	const { projectId } = api.warehouse;
	const path = decodeURIComponent(call.url.pathname);
	if (path.startsWith("/upload/")) {
		if (!path.startsWith("/upload/storage/"))
			requirePermissions(api, call, ["jobs"]);
		return uploadRoute(api, call);
	}
	if (path.startsWith("/storage/")) return objectRoute(api, call);
	const base = `/bigquery/v2/projects/${projectId}/`;
	if (!path.startsWith(base)) throw notFound(`Project of ${path}`);
	const parts = path.slice(base.length).split("/");
	const [collection, name, inner, innerName, data] = parts;
	requirePermissions(api, call, parts);
	if (collection === "jobs") return jobRoute(api, call, name, inner);
	if (collection === "queries")
		return name === undefined
			? queryRoute(api, call)
			: resultRoute(api, call, name);
	if (collection !== "datasets") throw invalid(`No such method: ${path}`);
	if (inner === undefined) return datasetRoute(api, call, name);
	if (innerName === undefined && call.request.method === "GET")
		return { status: 200, body: tableList(api, name!) };
	const [tableId = "", method] = innerName?.split(":") ?? [];
	const reference = { projectId, datasetId: name!, tableId };
	if (method === "testIamPermissions")
		return {
			status: 200,
			body: {
				permissions: jsonOf(call).permissions.filter((asked: string) =>
					api.permissions.has(asked.replace("bigquery.", ""), name),
				),
			},
		};
	if (method === "getIamPolicy" || data === "rowAccessPolicies")
		return { status: 200, body: accessTo(api, reference) };
	return data === undefined
		? tableRoute(api, call, reference)
		: { status: 200, body: await listRows(api, call, reference) };
}

function requirePermissions(
	{ permissions, warehouse }: Api,
	call: Call,
	parts: string[],
): void {
	const { method = "GET" } = call.request;
	const isTable = parts[2] !== undefined && call.body.length > 0;
	const body = isTable ? jsonOf(call) : undefined;
	const reference = {
		projectId: warehouse.projectId,
		datasetId: parts[1] ?? "",
		tableId: parts[3] ?? "",
	};
	const found = warehouse.find(reference);
	const { needed, dataset } = permissionsFor(method, parts, body, found);
	// What isn't there is "not found" for whoever may look.
	if (dataset !== undefined && !warehouse.datasets.has(dataset)) return;
	for (const permission of needed)
		if (!permissions.has(permission, dataset))
			throw new Fault(
				403,
				"accessDenied",
				`Access Denied: ${dataset === undefined ? "Project" : `Dataset ${warehouse.projectId}:${dataset}`}: Permission bigquery.${permission} denied`,
			);
}

/** cloud.google.com/bigquery/docs/reference/rest/v2/datasets */
async function datasetRoute(
	{ warehouse, permissions }: Api,
	call: Call,
	name: string | undefined,
): Promise<Answer> {
	const answer = (datasetId: string) => ({
		status: 200,
		body: {
			...datasetResource(
				warehouse.projectId,
				datasetId,
				warehouse.requireDataset(datasetId),
			),
			...warehouse.defaults.get(datasetId),
		},
	});
	switch (call.request.method) {
		case "GET":
			return answer(name!);
		case "POST": {
			const given = jsonOf(call);
			requireKnown(
				given,
				[
					"datasetReference",
					"location",
					"labels",
					"defaultEncryptionConfiguration",
				],
				"dataset",
			);
			const { datasetId } = given.datasetReference;
			await warehouse.createDataset(datasetId, given.location ?? "US");
			permissions.owned.add(datasetId);
			return answer(datasetId);
		}
		default: {
			const isWhole = call.url.searchParams.get("deleteContents") === "true";
			await warehouse.deleteDataset(name!, isWhole);
			return { status: 204 };
		}
	}
}

/** cloud.google.com/bigquery/docs/reference/rest/v2/tables */
async function tableRoute(
	{ warehouse }: Api,
	call: Call,
	reference: TableReference,
): Promise<Answer> {
	switch (call.request.method) {
		case "GET":
			return {
				status: 200,
				body: tableResource(await warehouse.read(reference)),
			};
		case "POST": {
			const made = await warehouse.createTable(jsonOf(call));
			return { status: 200, body: tableResource(made) };
		}
		case "PATCH": {
			const ifMatch = call.request.headers["if-match"];
			const table = await warehouse.changeTable(
				reference,
				jsonOf(call),
				ifMatch,
			);
			if (table) return { status: 200, body: tableResource(table) };
			throw new Fault(412, "conditionNotMet", "Precondition check failed.");
		}
		default:
			await warehouse.deleteTable(reference);
			return { status: 204 };
	}
}

/** cloud.google.com/bigquery/docs/reference/rest/v2/tables/list, in one page. */
function tableList({ warehouse }: Api, datasetId: string) {
	const { projectId } = warehouse;
	warehouse.requireDataset(datasetId);
	const tables = warehouse
		.tableNames()
		.map((id) => id.split(".") as [string, string])
		.filter(([dataset]) => dataset === datasetId)
		.map(([, tableId]) => {
			const tableReference = { projectId, datasetId, tableId };
			const { type, labels } = warehouse.require(tableReference);
			return { tableReference, type, ...(labels && { labels }) };
		});
	return { kind: "bigquery#tableList", tables, totalItems: tables.length };
}

/**
 * As cloud.google.com/bigquery/docs/reference/rest/v2/tables/getIamPolicy and …/rowAccessPolicies/list answer, in one, since
 * they have no member in common.
 */
function accessTo({ warehouse }: Api, reference: TableReference) {
	const { datasetId, tableId } = warehouse.require(reference).tableReference;
	const { roles = [], rowAccessPolicies = [] } =
		warehouse.access.get(`${datasetId}.${tableId}`) ?? {};
	return {
		bindings: roles.map((role) => ({ role, members: ["user:ada@x.example"] })),
		rowAccessPolicies: rowAccessPolicies.map((policyId) => ({
			rowAccessPolicyReference: { ...reference, policyId },
		})),
	};
}

/** cloud.google.com/bigquery/docs/reference/rest/v2/jobs/getQueryResults, of a job that has ended. The token of a page is where it begins. */
function resultRoute({ jobs }: Api, call: Call, jobId: string): Answer {
	const { searchParams } = call.url;
	const { jobReference } = jobs.find(jobId, searchParams.get("location"));
	const found = jobs.results.get(jobId);
	if (found === undefined) throw invalid(`Job ${jobId} has no result`);
	const from = Number(searchParams.get("pageToken") ?? 0);
	const end = from + Math.min(Number(searchParams.get("maxResults")), maxPage);
	return {
		status: 200,
		body: {
			kind: "bigquery#getQueryResultsResponse",
			jobReference,
			jobComplete: true,
			totalRows: String(found.length),
			rows: found
				.slice(from, end)
				.map((row) => ({ f: row.map((v) => ({ v })) })),
			...(end < found.length && { pageToken: String(end) }),
		},
	};
}

/** A page may have fewer rows than are asked for (the same page): so few that tests see several. */
const maxPage = 2;

/** cloud.google.com/bigquery/docs/reference/rest/v2/jobs */
function jobRoute(
	{ jobs }: Api,
	call: Call,
	jobId: string | undefined,
	action: string | undefined,
): Answer {
	const query = call.url.searchParams;
	if (jobId === undefined && call.request.method === "POST")
		return { status: 200, body: jobResource(jobs.start(jsonOf(call))) };
	if (jobId === undefined)
		return {
			status: 200,
			body: {
				kind: "bigquery#jobList",
				jobs: jobs.inStates(query.getAll("stateFilter")).map(jobResource),
			},
		};
	const location = query.get("location");
	if (action === "cancel") {
		jobs.cancel(jobId, location);
		const job = jobResource(jobs.find(jobId, location));
		return { status: 200, body: { kind: "bigquery#jobCancelResponse", job } };
	}
	return { status: 200, body: jobResource(jobs.find(jobId, location)) };
}
