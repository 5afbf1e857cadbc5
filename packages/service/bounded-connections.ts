import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ConnectionTable, keepAliveMs } from "../fair/connection-table.ts";
import { networkOf } from "../fair/network.ts";

/**
 * How often the deadlines of heads and bodies are checked. Node answers all that have passed in one turn, so of ten thousand connections
 * that came within a second a longer period would hold up everybody else by its whole share.
 */
export const checkEveryMs = 25;

/**
 * Bounds the connections of a server and shares them between networks ({@link ConnectionTable}). Node's own `maxConnections`
 * refuses whoever comes last, so peers that send nothing would keep out everybody else.
 *
 * Call it once, after the last listener of requests is added.
 *
 * @param most connections at once. Each costs some kilobytes, even when idle.
 * @param isProxy whether the address is a trusted proxy's.
 */
export function boundConnections(
	server: Server,
	most: number,
	isProxy: (address: string) => boolean = () => false,
): void {
	const table = new ConnectionTable<Socket>(most);
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
			adapt();
		});
		adapt();
	});
	const follow = ({ socket }: IncomingMessage, response: ServerResponse) => {
		table.beginRequest(socket);
		response.once("close", () => table.endRequest(socket));
	};
	server.on("request", follow);
	// Node answers these itself if nobody listens.
	for (const event of ["checkContinue", "checkExpectation"])
		if (server.listenerCount(event) > 0) server.on(event, follow);
}
