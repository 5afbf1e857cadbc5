import { setTimeout as delay } from "node:timers/promises";
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket } from "../contracts/nats.ts";
import { pipelineKind, sourceKind } from "../crds/generated/types.ts";
import { KubeClient } from "../kube/client/client.ts";
import { loadKubeConfig } from "../kube/client/kube-config.ts";
import { kinds } from "../kube/kinds.ts";
import { createLog } from "../service/log.ts";
import { connectNats } from "../service/nats.ts";
import { Settings } from "../service/settings.ts";
import { answerManifests } from "../test/support/doubles/instant-archive.ts";
import { runInstantNode } from "../test/support/doubles/instant-node.ts";
import {
	startControlPlane,
	startNats,
} from "../test/support/servers/servers.ts";
import { type Bench, type Measurement, percentile } from "./measurement.ts";
import { apply, createAll, makeDue } from "./operator-creation.ts";
import { counts, namespace, pipeline, source } from "./operator-objects.ts";
import {
	type OperatorProcess,
	startOperator,
	sumOf,
} from "./operator-process.ts";
import { OperatorWatch } from "./operator-watch.ts";
import { cpuMs, memory } from "./process-cost.ts";

const log = createLog("bench");
log.level = "warn";
const restMs = 60_000;
/** Sources, and as many Pipelines, that are applied one after the other. */
const applied = 50;

/** The operator with many resources on a real apiserver, beside as many CronJobs under the stock controller manager. */
export const bench: Bench = {
	about: `${counts.pipelines} Pipelines, ${counts.sources} Sources, ${counts.destinations} Destinations; baseline: ${counts.pipelines} CronJobs and the whole kube-controller-manager on the same apiserver`,
	async run(say) {
		const [controlPlane, nats] = await Promise.all([
			startControlPlane(),
			startNats(),
		]);
		const stop = new AbortController();
		const connections: NatsConnection[] = [];
		const operators: OperatorProcess[] = [];
		const { kubeconfig } = controlPlane;
		const client = KubeClient.fromConfig(loadKubeConfig(kubeconfig));
		const watch = new OperatorWatch(client, log);
		try {
			const connect = async (NATS_URL: string) => {
				const settings = new Settings({ NATS_URL });
				const connection = await connectNats(settings, "archive", log);
				connections.push(connection);
				return connection;
			};
			await new Kvm(await connect(nats.url)).create(bucket.ledger);
			answerManifests(await connect(nats.urlFor("archive")));
			await client.create(kinds.namespace, { metadata: { name: namespace } });
			void runInstantNode(client, [namespace], log, stop.signal);
			void watch.run(stop.signal);
			return await measure({
				client,
				watch,
				controllerManager: controlPlane.pids.controllerManager,
				start: async () => {
					const natsUrl = nats.urlFor("operator");
					const operator = await startOperator({ kubeconfig, natsUrl });
					operators.push(operator);
					return operator;
				},
				say,
			});
		} finally {
			stop.abort();
			for (const operator of operators) await operator.end();
			for (const connection of connections) await connection.close();
			await Promise.all([controlPlane.stop(), nats.stop()]);
		}
	},
};

interface Scene {
	client: KubeClient;
	watch: OperatorWatch;
	/** Process id. */
	controllerManager: number;
	start(): Promise<OperatorProcess>;
	say(progress: string): void;
}

async function measure(scene: Scene): Promise<Measurement[]> {
	const { client, watch, say } = scene;
	await createAll(client);
	say("all resources are created");

	const startMs = performance.now();
	const first = await scene.start();
	await until("all are Ready", 120_000, () => watch.allReady);
	const allReadySeconds = secondsSince(startMs);
	say(`all Ready after ${allReadySeconds.toFixed(1)} s`);
	await first.end();

	const restartMs = performance.now();
	const operator = await scene.start();
	await until("all are looked at again", 60_000, () => isCaughtUp(operator));
	const restartSeconds = secondsSince(restartMs);
	say(`all looked at again ${restartSeconds.toFixed(1)} s after a restart`);

	const readyMs = await applyEach(scene);
	say(`applied ${readyMs.length} resources one by one`);
	const rest = await measureRest(scene, operator);
	say("measured the rest");
	const dueMs = await makeDue(client);
	say("waiting for what is due");

	const runLatenessMs = await lateness(watch.runs, "pipeline", dueMs);
	say("the Pipelines' Runs are there");
	const jobLatenessMs = await lateness(
		watch.cronJobsJobs,
		"cronjob",
		dueMs + 60_000,
	);
	const ours = await memory(operator.pid);
	const stock = await memory(scene.controllerManager);
	return [
		plain("first start until all are Ready (≤ 60)", allReadySeconds, "s"),
		plain("restart until all are looked at (≤ 60)", restartSeconds, "s"),
		against(
			"resident memory (≤ 250)",
			ours.residentBytes / 1024 ** 2,
			stock.residentBytes / 1024 ** 2,
			"MiB",
		),
		against(
			"peak memory",
			ours.peakBytes / 1024 ** 2,
			stock.peakBytes / 1024 ** 2,
			"MiB",
		),
		plain(
			"requests at rest without the Lease's (≤ 30)",
			rest.requestsPerMinute,
			"/min",
		),
		against("CPU at rest (≤ 2)", rest.ours, rest.stock, "% of a core"),
		plain("apply to Ready, median", percentile(readyMs, 0.5), "ms"),
		plain("apply to Ready, p99 (≤ 1000)", percentile(readyMs, 0.99), "ms"),
		against(
			`lateness of ${counts.due} due at once, median`,
			percentile(runLatenessMs, 0.5),
			percentile(jobLatenessMs, 0.5),
			"ms",
		),
		against(
			`lateness of ${counts.due} due at once, p99 (≤ 2000)`,
			percentile(runLatenessMs, 0.99),
			percentile(jobLatenessMs, 0.99),
			"ms",
		),
	];
}

/** The restarted operator has looked at every object, and nothing waits. */
async function isCaughtUp(operator: OperatorProcess): Promise<boolean> {
	const metrics = await operator.metrics();
	return (
		sumOf(metrics, "workqueue_depth") === 0 &&
		sumOf(metrics, "controller_runtime_active_workers") === 0 &&
		sumOf(metrics, "controller_runtime_reconcile_total") >=
			counts.sources + counts.destinations + counts.pipelines
	);
}

/** How long each took from apply to Ready, in milliseconds. */
async function applyEach({ client, watch }: Scene): Promise<number[]> {
	const tookMs: number[] = [];
	for (let i = 0; i < applied; i++)
		for (const kind of ["source", "pipeline"] as const) {
			const name = `applied-${kind}-${i}`;
			const startMs = performance.now();
			await (kind === "source"
				? apply(client, sourceKind, source(name))
				: apply(
						client,
						pipelineKind,
						pipeline(name, i, { type: "Manual", timeZone: "UTC" }),
					));
			await until(`${name} is Ready`, 30_000, () => watch.isReady(kind, name));
			tookMs.push(performance.now() - startMs);
		}
	return tookMs;
}

async function measureRest(
	{ controllerManager }: Scene,
	operator: OperatorProcess,
): Promise<{ ours: number; stock: number; requestsPerMinute: number }> {
	const requests = async () => {
		const metrics = await operator.metrics();
		const count = (label?: string) =>
			sumOf(metrics, "rest_client_requests_total", label);
		// Only the Lease is written by PUT, and each time read before.
		return count() - 2 * count('method="PUT"');
	};
	const pids = [operator.pid, controllerManager];
	const used = () => Promise.all(pids.map(cpuMs));
	const [cpuBefore, requestsBefore] = [await used(), await requests()];
	await delay(restMs);
	const [cpuAfter, requestsAfter] = [await used(), await requests()];
	const [ours, stock] = cpuAfter.map(
		(after, i) => (100 * (after - cpuBefore[i]!)) / restMs,
	);
	return {
		ours: ours!,
		stock: stock!,
		requestsPerMinute: ((requestsAfter - requestsBefore) * 60_000) / restMs,
	};
}

/** How long after its minute each of the due ones was there, in milliseconds. */
async function lateness(
	seenMs: ReadonlyMap<string, number>,
	prefix: string,
	dueMs: number,
): Promise<number[]> {
	const slot = `-${dueMs / 60_000}`;
	const those = () =>
		[...seenMs].filter(
			([name]) => name.startsWith(prefix) && name.endsWith(slot),
		);
	await until(
		"what is due is there",
		dueMs - Date.now() + 60_000,
		() => those().length >= counts.due,
	);
	return those().map(([, ms]) => ms - dueMs);
}

async function until(
	what: string,
	timeoutMs: number,
	isSo: () => boolean | Promise<boolean>,
): Promise<void> {
	const deadlineMs = performance.now() + timeoutMs;
	while (!(await isSo())) {
		if (performance.now() > deadlineMs)
			throw new Error(`waited ${timeoutMs} ms in vain until ${what}`);
		await delay(10);
	}
}

function secondsSince(startMs: number): number {
	return (performance.now() - startMs) / 1000;
}

function plain(metric: string, value: number, unit: string): Measurement {
	return { metric, value, unit };
}

function against(
	metric: string,
	value: number,
	baseline: number,
	unit: string,
): Measurement {
	return { metric, value, unit, baseline, ratio: value / baseline };
}
