// prom-client: the field's metrics library, with the text format and defaults for Node.
import { Counter, Histogram, type Registry } from "prom-client";

/** A request that was answered, or whose caller has gone. */
export interface AnsweredRequest {
	method: string;
	/** As it is registered, such as `/v1/sources/:source`; undefined if there is no such path. */
	route: string | undefined;
	status: number;
	seconds: number;
}

/** What callers wrote stands in no label: paths that aren't there are one route, and methods that no path has are one, too. */
const noRoute = "(none)";
const knownMethods = new Set(["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"]);

/** The metrics of what the REST API and the console answer. */
export class RequestMetrics {
	readonly #requests: Counter;
	readonly #seconds: Histogram;

	constructor(registry: Registry) {
		const registers = [registry];
		this.#requests = new Counter({
			name: "tidemill_api_requests_total",
			help: "Requests answered, by method, route and the status of HTTP. Paths that don't exist are the route (none).",
			labelNames: ["method", "route", "status"],
			registers,
		});
		this.#seconds = new Histogram({
			name: "tidemill_api_request_seconds",
			help: "Time from a request's head to the end of its answer, by method and route. A stream, or a request that waits for a Run, takes as long as its caller likes.",
			labelNames: ["method", "route"],
			buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
			registers,
		});
	}

	count({ method, route = noRoute, status, seconds }: AnsweredRequest): void {
		const labels = {
			method: knownMethods.has(method) ? method : "(other)",
			route,
		};
		this.#requests.inc({ ...labels, status });
		this.#seconds.observe(labels, seconds);
	}
}
