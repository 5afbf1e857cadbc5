import {
	createServer,
	type IncomingMessage,
	type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Json } from "@duckdb/node-api";
import type {
	Job,
	TableReference,
} from "../../../../ingest/load/bigquery/api.ts";
import { Fault, invalid, notFound, requireKnown } from "./fault.ts";
import { Jobs } from "./jobs.ts";
import { newServiceAccount } from "./service-account.ts";
import { parseMultipart, Uploads } from "./uploads.ts";
import { Warehouse } from "./warehouse.ts";

export interface DoubleRequest {
	/** "GET", with the path below the API's base, without its query: `/bigquery/v2/projects/p/jobs`. */
	method: string;
	path: string;
}

/**
 * A double of the BigQuery REST API (cloud.google.com/bigquery/docs/reference/rest) for the calls that load makes, with
 * tables in DuckDB. It refuses what BigQuery is documented to refuse. It is no emulator: docs/bigquery.md lists what it
 * can't show.
 */
export interface BigQueryDouble {
	endpoint: string;
	projectId: string;
	/** The only service account key that it accepts. */
	keyJson: string;
	warehouse: Warehouse;
	jobs: Jobs;
	uploads: Uploads;
	readonly requests: DoubleRequest[];
	/** Called first with each request. It may return the answer, or `drop` to end the connection. */
	onRequest: (request: DoubleRequest) => Fault | "drop" | undefined;
	/** Rows of `dataset.table`. */
	sql(text: string): Promise<Json[][]>;
	/** Settles when all requests have ended and their work is done. */
	settled(): Promise<void>;
	/** Closes connections without a request, as a process that ends does. */
	closeIdle(): void;
	close(): Promise<void>;
}

export async function startBigQueryDouble(
	projectId = "test-project",
	port = 0,
): Promise<BigQueryDouble> {
	const warehouse = await Warehouse.open(projectId);
	const jobs = new Jobs(warehouse);
	const uploads = new Uploads();
	const { keyJson, accepts } = newServiceAccount(projectId);
	const api = { warehouse, jobs, uploads };
	const underWay = new Set<Promise<void>>();
	const server = createServer((request, response) => {
		const answered = answer(request, response).finally(() =>
			underWay.delete(answered),
		);
		underWay.add(answered);
	});
	const sockets = new Set<Socket>();
	server.on("connection", (socket) => {
		sockets.add(socket);
		socket.on("close", () => sockets.delete(socket));
	});
	const answer = async (
		request: IncomingMessage,
		response: ServerResponse,
	): Promise<void> => {
		const url = new URL(request.url ?? "/", double.endpoint);
		const seen = { method: request.method ?? "", path: url.pathname };
		const body = await bodyOf(request).catch(() => undefined);
		// The caller was killed in the middle of its request.
		if (!body) return;
		double.requests.push(seen);
		const instead = double.onRequest(seen);
		if (instead === "drop") {
			request.socket.destroy();
			return;
		}
		try {
			if (instead) throw instead;
			if (!accepts(request.headers.authorization))
				throw new Fault(401, "authError", "Invalid Credentials");
			reply(response, await route(api, { request, url, body }));
		} catch (error) {
			const fault = asFault(error);
			reply(response, { status: fault.status, body: fault.toBody() });
		}
	};
	await new Promise<void>((resolve) =>
		server.listen(port, "127.0.0.1", () => resolve()),
	);
	const { port: given } = server.address() as AddressInfo;
	const double: BigQueryDouble = {
		endpoint: `http://127.0.0.1:${given}`,
		projectId,
		keyJson,
		...api,
		requests: [],
		onRequest: () => undefined,
		sql: (text) => warehouse.alone(() => warehouse.sql(text)),
		settled: async () => {
			// Requests of a killed process may still be arriving.
			for (const socket of sockets)
				await new Promise((resolve) => socket.once("close", resolve));
			await Promise.all(underWay);
			await jobs.settled();
		},
		closeIdle: () => server.closeIdleConnections(),
		close: async () => {
			await new Promise((resolve) => {
				server.close(resolve);
				server.closeAllConnections();
			});
			await double.settled();
			warehouse.close();
		},
	};
	return double;
}

interface Api {
	warehouse: Warehouse;
	jobs: Jobs;
	uploads: Uploads;
}

interface Call {
	request: IncomingMessage;
	url: URL;
	body: Buffer;
}

interface Answer {
	status: number;
	body?: object;
	headers?: Record<string, string>;
}

async function route(api: Api, call: Call): Promise<Answer> {
	const { projectId } = api.warehouse;
	const path = decodeURIComponent(call.url.pathname);
	if (path === `/upload/bigquery/v2/projects/${projectId}/jobs`)
		return uploadRoute(api, call);
	const base = `/bigquery/v2/projects/${projectId}/`;
	if (!path.startsWith(base)) throw notFound(`Project of ${path}`);
	const [collection, name, inner, innerName] = path
		.slice(base.length)
		.split("/");
	if (collection === "jobs") return jobRoute(api, call, name, inner);
	if (collection !== "datasets") throw invalid(`No such method: ${path}`);
	if (inner === "tables")
		return tableRoute(api, call, {
			projectId,
			datasetId: name!,
			tableId: innerName ?? "",
		});
	if (call.request.method !== "POST")
		return {
			status: 200,
			body: { location: api.warehouse.requireDataset(name!) },
		};
	requireKnown(
		jsonOf(call),
		["datasetReference", "location", "defaultEncryptionConfiguration"],
		"dataset",
	);
	const { datasetReference, location } = jsonOf(call);
	await api.warehouse.createDataset(datasetReference.datasetId, location);
	return { status: 200, body: { location } };
}

async function tableRoute(
	{ warehouse }: Api,
	call: Call,
	reference: TableReference,
): Promise<Answer> {
	switch (call.request.method) {
		case "GET":
			return { status: 200, body: warehouse.require(reference) };
		case "POST":
			return { status: 200, body: await warehouse.createTable(jsonOf(call)) };
		case "PATCH": {
			const ifMatch = call.request.headers["if-match"];
			const table = warehouse.patchTable(reference, jsonOf(call), ifMatch);
			if (table) return { status: 200, body: table };
			throw new Fault(412, "conditionNotMet", "Precondition check failed.");
		}
		default:
			await warehouse.deleteTable(reference);
			return { status: 204 };
	}
}

function jobRoute(
	{ jobs }: Api,
	call: Call,
	jobId: string | undefined,
	action: string | undefined,
): Answer {
	const query = call.url.searchParams;
	if (jobId === undefined)
		return {
			status: 200,
			body:
				call.request.method === "POST"
					? jobs.start(jsonOf(call))
					: { jobs: jobs.inStates(query.getAll("stateFilter")) },
		};
	if (action === "cancel") jobs.cancel(jobId, query.get("location"));
	return { status: 200, body: jobs.find(jobId, query.get("location")) };
}

function uploadRoute(api: Api, call: Call): Answer {
	const { headers, method } = call.request;
	if (method === "PUT") return chunkRoute(api, call);
	if (call.url.searchParams.get("uploadType") === "multipart") {
		const { job, data } = parseMultipart(
			headers["content-type"] ?? "",
			call.body,
		);
		return { status: 200, body: api.jobs.start(job, data) };
	}
	const job: Job = jsonOf(call);
	api.jobs.requireStartable(job);
	const size = Number(headers["x-upload-content-length"]);
	const session = new URL(call.url);
	session.searchParams.set("upload_id", api.uploads.begin(job, size));
	return { status: 200, headers: { location: session.href } };
}

function chunkRoute({ jobs, uploads }: Api, call: Call): Answer {
	const session = uploads.put(
		call.url.searchParams.get("upload_id") ?? "",
		call.request.headers["content-range"] ?? "",
		call.body,
	);
	const { job, size, received } = session;
	if (received.length < size)
		return {
			status: 308,
			...(received.length > 0 && {
				headers: { range: `bytes=0-${received.length - 1}` },
			}),
		};
	// A repeat of the last chunk gets the same job.
	session.started ??= jobs.start(job, received);
	return { status: 200, body: session.started };
}

function jsonOf({ body }: Call) {
	return JSON.parse(body.toString());
}

function asFault(error: unknown): Fault {
	if (error instanceof Fault) return error;
	return new Fault(500, "internalError", String((error as Error).stack));
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
	const chunks: Buffer[] = [];
	for await (const chunk of request) chunks.push(chunk as Buffer);
	return Buffer.concat(chunks);
}

function reply(
	response: ServerResponse,
	{ status, body, headers = {} }: Answer,
): void {
	response.writeHead(status, {
		...headers,
		...(body && { "content-type": "application/json" }),
	});
	response.end(body && JSON.stringify(body));
}
