import { once } from "node:events";
import {
	createServer,
	type IncomingMessage,
	type Server,
	type ServerResponse,
	STATUS_CODES,
} from "node:http";
import { type AddressInfo, Server as NetServer } from "node:net";
import type { Duplex } from "node:stream";
import {
	boundConnections,
	checkEveryMs,
} from "../../packages/service/bounded-connections.ts";
import { type RequestRefusal, refusals } from "./request/refusal.ts";
import { rawReply } from "./request/reply.ts";
import { type ReceiverParts, WebhookRequest } from "./webhook-request.ts";

/** Long enough for requests on their way when a sender learns from `Connection: close` to go elsewhere. */
const goodbyeMs = 2_000;
/** Together with the shutdown delay less than the 30 s that Kubernetes gives a Pod to stop. */
const maxCloseMs = 20_000;

export interface ConnectionDeadlines {
	/** From the first byte of a request to the end of its head. */
	headMs: number;
	/** From the first byte of a request to the end of its body. */
	requestMs: number;
	/** How often both are checked. */
	checkEveryMs: number;
}

export interface ConnectionBounds {
	/** Connections at once. */
	most: number;
	/** Whether the address is a trusted proxy's. */
	isProxy(address: string): boolean;
}

const usualDeadlines: ConnectionDeadlines = {
	headMs: 10_000,
	requestMs: 30_000,
	checkEveryMs,
};

export const usualBounds: ConnectionBounds = {
	most: 10_000,
	isProxy: () => false,
};

/**
 * Receive's HTTP server, directly on node:http: docs/decisions/0001-receive-on-node-http.md has the measurements.
 * Every phase of a connection has a deadline, so that a slow sender holds nothing for long.
 */
export class HttpServer {
	readonly #server: Server;
	readonly #receiver: ReceiverParts;
	#isRetiring = false;

	constructor(
		receiver: ReceiverParts,
		{ most, isProxy } = usualBounds,
		deadlines = usualDeadlines,
	) {
		this.#receiver = receiver;
		this.#server = createServer({
			headersTimeout: deadlines.headMs,
			requestTimeout: deadlines.requestMs,
			// Longer than a load balancer's (60 s is usual), so that the load balancer closes connections first.
			keepAliveTimeout: 75_000,
			connectionsCheckingInterval: deadlines.checkEveryMs,
			maxHeaderSize: 16 * 1024,
			// The webhook request checks it and answers in our own words.
			requireHostHeader: false,
		});
		this.#server.on("request", (request, response) =>
			this.#handle(request, response, false),
		);
		this.#server.on("checkContinue", (request, response) =>
			this.#handle(request, response, true),
		);
		// A server may ignore any other expectation (RFC 9110 §10.1.1).
		this.#server.on("checkExpectation", (request, response) =>
			this.#handle(request, response, false),
		);
		boundConnections(this.#server, {
			most,
			isProxy,
			refuse: (error, socket) => this.#refuseUnreadable(error, socket),
		});
	}

	/** Starts to listen and returns the port. Rejects when the port is taken. */
	async listen(port: number, host: string): Promise<number> {
		this.#server.listen({ port, host, backlog: 4_096 });
		await once(this.#server, "listening");
		return (this.#server.address() as AddressInfo).port;
	}

	/**
	 * Goes on serving, new connections included, and closes each connection with its next answer, so that senders
	 * reconnect elsewhere. Closing an idle connection can cross a request on its way, which the sender must then take for
	 * lost; closing with an answer can't (RFC 9112 §9.6).
	 */
	retire(): void {
		this.#isRetiring = true;
	}

	/**
	 * Retires, takes no new connections, and closes idle ones. Settles when all connections are gone; after 20 s it cuts
	 * the rest.
	 */
	async close(): Promise<void> {
		this.retire();
		const closed = once(this.#server, "close");
		// This only stops listening. http.Server's own close() also cuts idle connections at once, and a request may be on its
		// way on some of them.
		NetServer.prototype.close.call(this.#server);
		const goodbye = setInterval(
			() => this.#server.closeIdleConnections(),
			goodbyeMs,
		);
		const cut = setTimeout(
			() => this.#server.closeAllConnections(),
			maxCloseMs,
		);
		await closed;
		clearInterval(goodbye);
		clearTimeout(cut);
	}

	#handle(
		request: IncomingMessage,
		response: ServerResponse,
		expectsContinue: boolean,
	): void {
		if (this.#isRetiring) response.shouldKeepAlive = false;
		new WebhookRequest(this.#receiver, request, response).start(
			expectsContinue,
		);
	}

	/** Answers a request that node:http can't read or has stopped waiting for. */
	#refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
		if (!socket.writable || error.code === "ECONNRESET") {
			socket.destroy();
			return;
		}
		const refusal = unreadable[error.code ?? ""] ?? refusals.BadRequest;
		this.#receiver.metrics.answer(refusal.code);
		socket.end(rawReply(refusal, STATUS_CODES[refusal.status] ?? ""));
		// A peer that never closes its side would keep its partial body in memory.
		const cut = setTimeout(() => socket.destroy(), goodbyeMs);
		socket.once("close", () => clearTimeout(cut));
	}
}

const unreadable: Record<string, RequestRefusal> = {
	HPE_HEADER_OVERFLOW: refusals.HeadersTooLarge,
	ERR_HTTP_REQUEST_TIMEOUT: refusals.RequestTimeout,
};
