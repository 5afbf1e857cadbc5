import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
// prom-client: the field's metrics library, with the text format and defaults for Node.
import { collectDefaultMetrics, Registry } from "prom-client";
import { boundConnections, checkEveryMs } from "./bounded-connections.ts";
import type { Logger } from "./log.ts";
import { explainTakenPort, Settings } from "./settings.ts";
import type { ProcessPart } from "./start-order.ts";

export interface HealthServer {
	port: number;
	close(): Promise<void>;
}

/** No check has a body, and Prometheus asks again within a minute. */
const deadlines = {
	headersTimeout: 10_000,
	requestTimeout: 10_000,
	keepAliveTimeout: 75_000,
	connectionsCheckingInterval: checkEveryMs,
};

/** Says why a process can't start yet, on the address of its own health server. */
export async function serveFault(fault: string): Promise<HealthServer> {
	return startHealthServer(new Settings(), {
		ready: () => fault,
		registry: new Registry(),
	});
}

/**
 * Serves kubelet and Prometheus on HEALTH_HOST and HEALTH_PORT: `/healthz` (restart me if this fails), `/readyz` (send me traffic), `/metrics`. A check
 * returns undefined when all is well, else the reason, which becomes the body of the 503. A process that is ready may have a notice for people, after `ok: `.
 */
export async function startHealthServer(
	settings: Settings,
	{
		live = () => undefined,
		ready,
		notice = () => undefined,
		registry,
		port = settings.port("HEALTH_PORT", 0),
		mostConnections = 1_000,
	}: {
		live?: () => string | undefined;
		ready: () => string | undefined;
		notice?: () => string | undefined;
		registry: Registry;
		port?: number;
		mostConnections?: number;
	},
): Promise<HealthServer> {
	const server = createServer(deadlines, async (request, response) => {
		const check = (reason: string | undefined, notice?: string) => {
			response.statusCode = reason === undefined ? 200 : 503;
			const ok = notice === undefined ? "ok" : `ok: ${notice}`;
			response.end(`${reason ?? ok}\n`);
		};
		switch (request.url) {
			case "/healthz":
				return check(live());
			case "/readyz":
				return check(ready(), notice());
			case "/metrics":
				response.setHeader("content-type", registry.contentType);
				response.end(await registry.metrics());
				return;
			default:
				response.statusCode = 404;
				response.end("Try /healthz, /readyz or /metrics.\n");
		}
	});
	boundConnections(server, {
		most: mostConnections,
		refuse: (_, socket) =>
			socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", () =>
				socket.destroy(),
			),
	});
	server.listen(port, settings.text("HEALTH_HOST", "127.0.0.1"));
	await once(server, "listening").catch(explainTakenPort("HEALTH_PORT"));
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

/** A server of health checks, which logs its port. */
export function healthPart(
	role: string,
	log: Logger,
	start: () => Promise<HealthServer>,
): ProcessPart {
	return {
		name: "health server",
		start: async () => {
			const server = await start();
			log.info({ healthPort: server.port }, `${role} starts`);
			return { stop: () => server.close() };
		},
	};
}
