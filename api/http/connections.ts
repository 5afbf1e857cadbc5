import { type Server, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { FastifyHttpOptions } from "fastify";
import { checkEveryMs } from "../../packages/service/bounded-connections.ts";
import { callersOnly } from "./callers-only.ts";
import { problemType, RequestError } from "./errors.ts";

export interface ConnectionLimits {
	/** From the first byte of a request to the end of its head. A new connection has this long to send one. */
	headMs: number;
	/** From the first byte of a request to the end of its body. */
	requestMs: number;
	/** Between two requests. */
	keepAliveMs: number;
	/** Without a byte either way, such as from a client that doesn't read its answer. */
	silenceMs: number;
	/** How often the time of heads and requests is checked. */
	checkEveryMs: number;
	/** At once. */
	maxConnections: number;
	/** Bytes of large bodies and answers that are under way: one account alone may have half. */
	maxLargeBytes: number;
}

export const usualLimits: ConnectionLimits = {
	headMs: 10_000,
	requestMs: 30_000,
	// Longer than a load balancer's (60 s is usual), so that the load balancer closes connections first.
	keepAliveMs: 75_000,
	// Longer than the longest wait for a run. A followed log has no such limit.
	silenceMs: 120_000,
	checkEveryMs,
	maxConnections: 10_000,
	maxLargeBytes: 128 * 1024 ** 2,
};

/** The server options that give every phase of a connection a deadline, so that a slow client holds nothing for long. */
export function connectionOptions(
	limits: ConnectionLimits,
): FastifyHttpOptions<Server> {
	return {
		requestTimeout: limits.requestMs,
		keepAliveTimeout: limits.keepAliveMs,
		connectionTimeout: limits.silenceMs,
		http: {
			requestTimeout: limits.requestMs,
			headersTimeout: limits.headMs,
			connectionsCheckingInterval: limits.checkEveryMs,
		},
	};
}

/** For a peer that doesn't close its side, which would keep what it sent in memory. */
const goodbyeMs = 2_000;

/** Answers a request that node:http can't read or has stopped waiting for. */
export function refuseUnreadable(
	{ code }: NodeJS.ErrnoException,
	socket: Duplex,
): void {
	if (!socket.writable || code === "ECONNRESET") {
		socket.destroy();
		return;
	}
	socket.end(rawAnswer(errorOf(code)));
	const cut = setTimeout(() => socket.destroy(), goodbyeMs);
	socket.once("close", () => clearTimeout(cut));
}

function errorOf(code: string | undefined): RequestError {
	switch (code) {
		case "ERR_HTTP_REQUEST_TIMEOUT":
			return new RequestError(
				"RequestTimeout",
				"The request did not arrive in time. Send it again.",
			);
		case "HPE_HEADER_OVERFLOW":
			return new RequestError(
				"HeadersTooLarge",
				"The headers are too large. At most 16 KiB are allowed.",
			);
		default:
			return new RequestError(
				"InvalidRequest",
				"The request is not valid HTTP/1.1.",
			);
	}
}

function rawAnswer(error: RequestError): string {
	const body = JSON.stringify(error.problem());
	return [
		`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
		`content-type: ${problemType}`,
		...Object.entries(callersOnly).map(([name, value]) => `${name}: ${value}`),
		`content-length: ${Buffer.byteLength(body)}`,
		"connection: close",
		"",
		body,
	].join("\r\n");
}
