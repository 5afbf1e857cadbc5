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
import { type Refusal, refusals } from "./refusal.ts";
import { rawReply } from "./reply.ts";
import { Exchange, type Intake } from "./webhook-request.ts";

/** Long enough for what is under way when a sender learns by `Connection: close` that it should go elsewhere. */
const goodbyeMs = 2_000;
/** With the shutdown delay below the 30 s that Kubernetes gives a Pod to stop. */
const maxCloseMs = 20_000;

export interface Deadlines {
	/** From the first byte of a request to the end of its head. */
	headMs: number;
	/** From the first byte of a request to the last of its body. */
	requestMs: number;
	/** How often the two are looked at. */
	checkEveryMs: number;
}

const usualDeadlines: Deadlines = {
	headMs: 10_000,
	requestMs: 30_000,
	checkEveryMs: 2_000,
};

/** Each costs some kilobytes, also when it is idle. */
const maxConnections = 10_000;

/**
 * The HTTP side of receive, on node:http itself: docs/decisions/0001-receive-on-node-http.md has the measurements.
 * Every phase of a connection has a deadline, so that a slow sender holds nothing for long.
 */
export class HttpServer {
	readonly #server: Server;
	readonly #intake: Intake;
	#isRetiring = false;

	constructor(intake: Intake, deadlines = usualDeadlines) {
		this.#intake = intake;
		this.#server = createServer({
			headersTimeout: deadlines.headMs,
			requestTimeout: deadlines.requestMs,
			// Longer than the load balancers in front keep theirs (60 s is usual): the closing is theirs to do.
			keepAliveTimeout: 75_000,
			connectionsCheckingInterval: deadlines.checkEveryMs,
			maxHeaderSize: 16 * 1024,
			// It is asked for in our own words.
			requireHostHeader: false,
		});
		this.#server.maxConnections = maxConnections;
		this.#server.on("request", (request, response) =>
			this.#handle(request, response, false),
		);
		this.#server.on("checkContinue", (request, response) =>
			this.#handle(request, response, true),
		);
		// Any other expectation may be ignored (RFC 9110 §10.1.1).
		this.#server.on("checkExpectation", (request, response) =>
			this.#handle(request, response, false),
		);
		this.#server.on("clientError", (error: NodeJS.ErrnoException, socket) =>
			this.#refuseUnreadable(error, socket),
		);
	}

	/** Starts to listen; the port that it listens on. Rejects when the port can't be had. */
	async listen(port: number, host: string): Promise<number> {
		this.#server.listen({ port, host, backlog: 4_096 });
		await once(this.#server, "listening");
		return (this.#server.address() as AddressInfo).port;
	}

	/**
	 * Serves on, also on new connections, and tells with each answer that its connection closes, so that its sender
	 * connects anew, elsewhere if it can. A connection that is closed while it is idle can meet a request that is on its
	 * way, which its sender then must take for lost; one that is closed with an answer can't (RFC 9112 §9.6).
	 */
	retire(): void {
		this.#isRetiring = true;
	}

	/**
	 * Retires and takes no new connection; closes those that stay idle. Settles when all connections are gone; those that
	 * take longer than 20 s are cut.
	 */
	async close(): Promise<void> {
		this.retire();
		const closed = once(this.#server, "close");
		// Only stops listening. http.Server's own close() cuts idle connections at once, on some of which a request is on its
		// way already.
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
		new Exchange(this.#intake, request, response).start(expectsContinue);
	}

	/** What node:http can't read, or doesn't want to wait for any longer. */
	#refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
		if (!socket.writable || error.code === "ECONNRESET") {
			socket.destroy();
			return;
		}
		const refusal = unreadable[error.code ?? ""] ?? refusals.BadRequest;
		this.#intake.metrics.answer(refusal.code);
		socket.end(rawReply(refusal, STATUS_CODES[refusal.status] ?? ""));
		// A peer that never closes its side would hold what it has sent of a body.
		const cut = setTimeout(() => socket.destroy(), goodbyeMs);
		socket.once("close", () => clearTimeout(cut));
	}
}

const unreadable: Record<string, Refusal> = {
	HPE_HEADER_OVERFLOW: refusals.HeadersTooLarge,
	ERR_HTTP_REQUEST_TIMEOUT: refusals.RequestTimeout,
};
