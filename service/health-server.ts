import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";
import { SettingError } from "./settings.ts";

export interface HealthServer {
	port: number;
	close(): Promise<void>;
}

/**
 * Serves kubelet and Prometheus: `/healthz` (restart me if this fails), `/readyz` (send me traffic), `/metrics`. A check
 * returns undefined when all is well, else the reason, which becomes the body of the 503.
 */
export async function startHealthServer(options: {
	port: number;
	host?: string;
	live: () => string | undefined;
	ready: () => string | undefined;
	// prom-client: the standard metrics library, with the text format and defaults for Node.
	registry: Registry;
}): Promise<HealthServer> {
	const server = createServer(async (request, response) => {
		const check = (reason: string | undefined) => {
			response.statusCode = reason === undefined ? 200 : 503;
			response.end(`${reason ?? "ok"}\n`);
		};
		switch (request.url) {
			case "/healthz":
				return check(options.live());
			case "/readyz":
				return check(options.ready());
			case "/metrics":
				response.setHeader("content-type", options.registry.contentType);
				response.end(await options.registry.metrics());
				return;
			default:
				response.statusCode = 404;
				response.end("Try /healthz, /readyz or /metrics.\n");
		}
	});
	await new Promise<void>((resolve, reject) => {
		server.once("error", (error: NodeJS.ErrnoException) =>
			reject(
				error.code === "EADDRINUSE"
					? new SettingError(
							`HEALTH_PORT is ${options.port}, a port that another process uses. Set HEALTH_PORT to a free port.`,
						)
					: error,
			),
		);
		server.listen(options.port, options.host ?? "127.0.0.1", resolve);
	});
	return {
		port: (server.address() as AddressInfo).port,
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}
