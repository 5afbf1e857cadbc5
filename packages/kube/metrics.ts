// prom-client: the field's metrics library, with the text format and defaults for Node.
import {
	Counter,
	Gauge,
	Histogram,
	type Metric,
	type Registry,
} from "prom-client";

/**
 * One set per process, under the names of controller-runtime and client-go (workqueue, leaderelection), so that existing
 * dashboards and alerts work.
 */
export const metrics = {
	reconciles: new Counter({
		name: "controller_runtime_reconcile_total",
		help: "Reconciliations, by result: success, requeue_after, or error.",
		labelNames: ["controller", "result"],
		registers: [],
	}),
	reconcileErrors: new Counter({
		name: "controller_runtime_reconcile_errors_total",
		help: "Reconciliations that failed.",
		labelNames: ["controller"],
		registers: [],
	}),
	reconcileSeconds: new Histogram({
		name: "controller_runtime_reconcile_time_seconds",
		help: "How long a reconciliation took.",
		labelNames: ["controller"],
		buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
		registers: [],
	}),
	activeWorkers: new Gauge({
		name: "controller_runtime_active_workers",
		help: "Workers that reconcile at this moment.",
		labelNames: ["controller"],
		registers: [],
	}),
	maxConcurrentReconciles: new Gauge({
		name: "controller_runtime_max_concurrent_reconciles",
		help: "Workers that there are.",
		labelNames: ["controller"],
		registers: [],
	}),
	queueDepth: new Gauge({
		name: "workqueue_depth",
		help: "Keys that wait for a worker.",
		labelNames: ["name"],
		registers: [],
		collect() {
			for (const queue of queues.values())
				this.set({ name: queue.name }, queue.length);
		},
	}),
	queueAdds: new Counter({
		name: "workqueue_adds_total",
		help: "Keys that began to wait.",
		labelNames: ["name"],
		registers: [],
	}),
	queueRetries: new Counter({
		name: "workqueue_retries_total",
		help: "Keys that wait for their backoff after a failure.",
		labelNames: ["name"],
		registers: [],
	}),
	queueSeconds: new Histogram({
		name: "workqueue_queue_duration_seconds",
		help: "How long a key waited for a worker.",
		labelNames: ["name"],
		buckets: powersOfTen(),
		registers: [],
	}),
	workSeconds: new Histogram({
		name: "workqueue_work_duration_seconds",
		help: "How long a worker had a key.",
		labelNames: ["name"],
		buckets: powersOfTen(),
		registers: [],
	}),
	longestRunningSeconds: new Gauge({
		name: "workqueue_longest_running_processor_seconds",
		help: "For how long the key that was taken first of those in work has been worked on.",
		labelNames: ["name"],
		registers: [],
		collect() {
			for (const { name, workingMs } of queues.values())
				this.set({ name }, Math.max(0, ...workingMs) / 1000);
		},
	}),
	unfinishedSeconds: new Gauge({
		name: "workqueue_unfinished_work_seconds",
		help: "For how long the keys in work have been worked on, together. It grows where workers are stuck.",
		labelNames: ["name"],
		registers: [],
		collect() {
			for (const { name, workingMs } of queues.values())
				this.set({ name }, workingMs.reduce((a, b) => a + b, 0) / 1000);
		},
	}),
	longestFailingSeconds: new Gauge({
		name: "workqueue_longest_failing_seconds",
		help: "For how long the key has failed, or has been refused something, that has done so longest; 0 if none does. The log names it.",
		labelNames: ["name"],
		registers: [],
		collect() {
			for (const [name, failingMs] of failures)
				this.set({ name }, failingMs() / 1000);
		},
	}),
	requests: new Counter({
		name: "rest_client_requests_total",
		help: "Requests to the apiserver, by the status of the answer; <error> when there was none.",
		labelNames: ["code", "method", "host"],
		registers: [],
	}),
	leading: new Gauge({
		name: "leader_election_master_status",
		help: "1 while this process holds the lease of this name.",
		labelNames: ["name"],
		registers: [],
	}),
};

/** Adds the metrics to the registry. */
export function registerKubeMetrics(registry: Registry): void {
	for (const metric of Object.values<Metric>(metrics))
		registry.registerMetric(metric);
}

/** A queue as the gauges read it at scrape time. */
export interface MeasuredQueue {
	name: string;
	/** How many keys are waiting. */
	length: number;
	/** For each key in work, for how long, in milliseconds. */
	workingMs: number[];
}

/** The later of two queues with one name counts. */
export function measureQueue(queue: MeasuredQueue): void {
	queues.set(queue.name, queue);
}

const queues = new Map<string, MeasuredQueue>();

/** @param failingMs for how long the key has failed that has done so longest, in milliseconds. The later of one name counts. */
export function measureFailures(name: string, failingMs: () => number): void {
	failures.set(name, failingMs);
}

const failures = new Map<string, () => number>();

/** client-go's buckets without those below 10 µs, which nothing here reaches. */
function powersOfTen(): number[] {
	return [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000];
}
