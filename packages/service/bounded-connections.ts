import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { ConnectionTable, keepAliveMs } from "../fair/connection-table.ts";
import { PacedTimeouts } from "./paced-timeouts.ts";
import { networkOf } from "./settings.ts";

/** How often the deadlines of heads and bodies are checked. */
export const checkEveryMs = 500;

/**
 * Bounds the connections of a server and shares them between networks ({@link ConnectionTable}). Node's own `maxConnections`
 * refuses whoever comes last, so peers that send nothing would keep out everybody else. Those whose deadline has passed end one after
 * another ({@link PacedTimeouts}).
 *
 * Call it once, after the last listener of requests is added.
 *
 * @param most connections at once. Each costs some kilobytes, even when idle.
 * @param isProxy whether the address is a trusted proxy's.
 * @param refuse answers a request that can't be read or is late, and ends its connection.
 */
export function boundConnections(
	server: Server,
	{
		most,
		isProxy = () => false,
		refuse,
	}: {
		most: number;
		isProxy?: ((address: string) => boolean) | undefined;
		refuse: (error: NodeJS.ErrnoException, socket: Duplex) => void;
	},
): void {
	const table = new ConnectionTable<Socket>(most);
	const timeouts = new PacedTimeouts(refuse);
	// fastify has a listener of its own.
	server.removeAllListeners("clientError");
	server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
		if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") timeouts.add(error, socket);
		else refuse(error, socket);
	});
	const usualKeepAliveMs = server.keepAliveTimeout;
	const adapt = () => {
		server.keepAliveTimeout = keepAliveMs(usualKeepAliveMs, table.fill);
	};
	server.on("connection", (socket) => {
		// A peer that has already gone has no address.
		const { remoteAddress = "" } = socket;
		const network = isProxy(remoteAddress)
			? undefined
			: networkOf(remoteAddress);
		const closed = table.add(socket, network);
		closed?.destroy();
		if (closed === socket) return;
		socket.once("close", () => {
			table.remove(socket);
			timeouts.remove(socket);
			adapt();
		});
		adapt();
	});
	const follow = (request: IncomingMessage, response: ServerResponse) => {
		const { socket } = request;
		table.beginRequest(socket);
		if (timeouts.beginRequest(request)) response.shouldKeepAlive = false;
		response.once("close", () => table.endRequest(socket));
	};
	server.on("request", follow);
	// Node answers these itself if nobody listens.
	for (const event of ["checkContinue", "checkExpectation"])
		if (server.listenerCount(event) > 0) server.on(event, follow);
}
