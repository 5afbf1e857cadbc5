// prom-client: the field's metrics library, with the text format and defaults for Node.
import { collectDefaultMetrics, Registry } from "prom-client";

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
