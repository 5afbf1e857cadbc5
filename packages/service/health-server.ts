import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
// prom-client: the field's metrics library, with the text format and defaults for Node.
import { collectDefaultMetrics, Registry } from "prom-client";
import { SettingError, Settings } from "./settings.ts";

interface HealthServer {
	port: number;
	close(): Promise<void>;
}

/** Says why a process can't start yet, on the address of its own health server. */
export async function serveFault(fault: string): Promise<HealthServer> {
	const { Registry } = await import("prom-client");
	const settings = new Settings();
	return startHealthServer({
		port: settings.integer("HEALTH_PORT", { min: 0, max: 65_535, fallback: 0 }),
		host: settings.text("HEALTH_HOST", "127.0.0.1"),
		live: () => undefined,
		ready: () => fault,
		registry: new Registry(),
	});
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

/**
 * Gauges whose name ends in `_total`, which Prometheus keeps for counters, so `rate()` and linters take them for ones. Each is the
 * sum of the metric of its name without the ending.
 */
const misnamed = [
	"nodejs_active_handles_total",
	"nodejs_active_requests_total",
	"nodejs_active_resources_total",
];

/** A registry that has the usual metrics of a Node process. */
export function processRegistry(): Registry {
	const registry = new Registry();
	collectDefaultMetrics({ register: registry });
	for (const name of misnamed) registry.removeSingleMetric(name);
	return registry;
}
