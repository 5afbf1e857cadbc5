import {
	createServer,
	type IncomingMessage,
	type ServerResponse,
	request as send,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { type GatewayKeys, withoutSession } from "../servers/s3-session.ts";

export interface SeenRequest {
	method: string;
	/** Without the query. */
	path: string;
	query: URLSearchParams;
	headers: IncomingMessage["headers"];
}

/** What goes wrong with one request, or with its answer. */
export type Disturbance =
	/** The store refuses, without having done anything. */
	| { status: number; code: string }
	/** The store has done it, and the connection breaks before the answer. */
	| "answer lost"
	/** The store has done it, and is silent. */
	| "silence"
	/** The proxy sends it twice, and passes on the second answer only. */
	| "sent twice"
	/** One byte of what is sent, or answered, is another. */
	| "request corrupted"
	| "answer corrupted"
	/** The answer ends in the middle. */
	| "answer cut short";

/** Stands between a client and the S3 gateway, sees what is asked, and disturbs it. */
export class S3Proxy {
	/** In the order in which they came. */
	readonly requests: SeenRequest[] = [];
	/** Asked for each request. */
	disturb: (request: SeenRequest) => Disturbance | undefined = () => undefined;
	/** Called when the store has done what was asked, before its answer goes out. */
	afterwards: (request: SeenRequest) => void = () => undefined;
	readonly endpoint: string;
	readonly close: () => Promise<void>;

	private constructor(endpoint: string, close: () => Promise<void>) {
		this.endpoint = endpoint;
		this.close = close;
	}

	/** @param tls PEM; plain HTTP when absent. */
	static async start(
		target: GatewayKeys & { endpoint: string },
		tls?: { cert: string; key: string },
	): Promise<S3Proxy> {
		const answer = (request: IncomingMessage, response: ServerResponse) =>
			void proxy
				.#answer(target, request, response)
				.catch(() => response.destroy());
		const server = tls ? createTlsServer(tls, answer) : createServer(answer);
		await new Promise<void>((resolve) =>
			server.listen(0, "127.0.0.1", () => resolve()),
		);
		const { port } = server.address() as AddressInfo;
		const proxy = new S3Proxy(
			`http${tls ? "s" : ""}://127.0.0.1:${port}`,
			() =>
				new Promise((resolve) => {
					server.close(() => resolve());
					server.closeAllConnections();
				}),
		);
		return proxy;
	}

	/** Those whose path ends so. */
	of(method: string, end = ""): SeenRequest[] {
		return this.requests.filter(
			(seen) => seen.method === method && seen.path.endsWith(end),
		);
	}

	async #answer(
		target: GatewayKeys & { endpoint: string },
		request: IncomingMessage,
		response: ServerResponse,
	): Promise<void> {
		const url = new URL(request.url!, target.endpoint);
		const seen: SeenRequest = {
			method: request.method!,
			path: url.pathname,
			query: url.searchParams,
			headers: request.headers,
		};
		this.requests.push(seen);
		const disturbance = this.disturb(seen);
		const body = await buffer(request);
		if (typeof disturbance === "object") {
			response.writeHead(disturbance.status);
			response.end(
				`<?xml version="1.0"?><Error><Code>${disturbance.code}</Code><Message>No.</Message></Error>`,
			);
			return;
		}
		if (disturbance === "request corrupted") flip(body);
		if (disturbance === "sent twice") await forward(url, seen, body, target);
		const { status, headers, content } = await forward(url, seen, body, target);
		this.afterwards(seen);
		if (disturbance === "silence") return;
		if (disturbance === "answer lost") return void response.destroy();
		if (disturbance === "answer corrupted") flip(content);
		response.writeHead(status, headers);
		if (disturbance === "answer cut short") {
			response.write(content.subarray(0, -1), () => response.destroy());
			return;
		}
		response.end(content);
	}
}

function flip(bytes: Buffer): void {
	const middle = Math.floor(bytes.length / 2);
	bytes[middle] = bytes[middle]! ^ 1;
}

/** With the headers as they are: the signature covers them, the Host too. */
function forward(
	url: URL,
	{ method, headers }: SeenRequest,
	body: Buffer,
	keys: GatewayKeys,
): Promise<{ status: number; headers: string[]; content: Buffer }> {
	return new Promise((resolve, reject) => {
		const request = send(
			url,
			{ method, headers: withoutSession({ method, url, headers }, keys) },
			async (response) =>
				resolve({
					status: response.statusCode!,
					headers: response.rawHeaders,
					content: await buffer(response),
				}),
		);
		request.on("error", reject);
		request.end(body);
	});
}
