import {
	createServer,
	type IncomingMessage,
	type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Json } from "@duckdb/node-api";
import { Buckets } from "./buckets.ts";
import type { Answer } from "./call.ts";
import { Fault } from "./fault.ts";
import { Jobs } from "./jobs.ts";
import { Permissions } from "./permissions.ts";
import { route } from "./routes.ts";
import { newServiceAccount } from "./service-account.ts";
import { Uploads } from "./uploads.ts";
import { Warehouse } from "./warehouse.ts";

export interface DoubleRequest {
	/** "GET", with the path below the API's base, without its query: `/bigquery/v2/projects/p/jobs`. */
	method: string;
	path: string;
	authorization?: string | undefined;
	/** Its x-goog-user-project (docs.cloud.google.com/docs/quotas/set-quota-project). */
	quotaProject?: string | undefined;
}

/**
 * A double of the BigQuery REST API (cloud.google.com/bigquery/docs/reference/rest) for the calls that load makes, with
 * tables in DuckDB. It refuses what BigQuery is documented to refuse. It is no emulator: docs/reference/bigquery-tests.md lists what it
 * can't show.
 */
export interface BigQueryDouble {
	endpoint: string;
	projectId: string;
	/** The only service account key that it accepts. */
	keyJson: string;
	warehouse: Warehouse;
	/** Of Cloud Storage, whose API has the same endpoint here. */
	buckets: Buckets;
	jobs: Jobs;
	uploads: Uploads;
	permissions: Permissions;
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
	const buckets = new Buckets();
	const jobs = new Jobs(warehouse, buckets);
	const uploads = new Uploads();
	const { keyJson, accepts } = newServiceAccount(projectId);
	const permissions = new Permissions();
	const api = { warehouse, buckets, jobs, uploads, permissions };
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
		const { method = "", headers } = request;
		const { authorization } = headers;
		const quotaProject = headers["x-goog-user-project"] as string | undefined;
		const seen = { method, path: url.pathname, authorization, quotaProject };
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
			const scope = /^(\/upload)?\/storage\//.test(url.pathname)
				? "https://www.googleapis.com/auth/devstorage.read_write"
				: "https://www.googleapis.com/auth/bigquery";
			if (!accepts(request.headers.authorization, scope))
				throw new Fault(401, "authError", "Invalid Credentials");
			reply(response, await route(api, { request, url, body }));
		} catch (error) {
			const fault = asFault(error);
			const { status, headers } = fault;
			reply(response, { status, headers, body: fault.toBody() });
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
