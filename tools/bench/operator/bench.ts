import { setTimeout as delay } from "node:timers/promises";
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { pipelineKind, sourceKind } from "../../../crds/generated/types.ts";
import { bucket } from "../../../packages/contracts/nats.ts";
import { KubeClient } from "../../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../../packages/kube/client/kube-config.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import { createLog } from "../../../packages/service/log.ts";
import { connectNats } from "../../../packages/service/nats/connection.ts";
import { Settings } from "../../../packages/service/settings.ts";
import { republished } from "../../../packages/streams/made-streams.ts";
import { answerManifests } from "../../../test/support/doubles/instant-archive.ts";
import { runInstantNode } from "../../../test/support/doubles/kubernetes/instant-node.ts";
import {
	startControlPlane,
	startNats,
} from "../../../test/support/servers/servers.ts";
import {
	type Bench,
	compared,
	figure,
	type Measurement,
	percentile,
	type Say,
} from "../measure/measurement.ts";
import { cpuMs, memory } from "../measure/process-cost.ts";
import { partsOf, roundsOf, wholeRounds } from "../measure/rounds.ts";
import { apply, createAll, makeDue } from "./creation.ts";
import { measureForeignObjects } from "./foreign-objects.ts";
import { counts, namespace, pipeline, source } from "./objects.ts";
import {
	type OperatorProcess,
	startOperator,
	sumOf,
} from "./operator-process.ts";
import { OperatorWatch, until } from "./watch.ts";

const log = createLog("bench");
log.level = "warn";
const restMs = 60_000;
/** Sources to apply one after the other, and as many Pipelines. */
const applied = 50;

/** The operator with many resources on a real apiserver, beside as many CronJobs under kube-controller-manager. */
export const bench: Bench = {
	about: `${counts.pipelines} Pipelines, ${counts.sources} Sources, ${counts.destinations} Destinations; baseline: ${counts.cronJobs} CronJobs and the whole kube-controller-manager on the same apiserver`,
	run: async (say) => {
		const parts = partsOf({ resources: measure, objects: 0 });
		const all: Measurement[] = [];
		if (parts.includes("resources"))
			all.push(
				...(await wholeRounds(roundsOf(3), say, () =>
					measureAnew(say, measure),
				)),
			);
		if (parts.includes("objects"))
			all.push(...(await measureAnew(say, measureForeignObjects)));
		return all;
	},
};

/** With servers of its own. */
async function measureAnew(
	say: Say,
	measure: (setup: Setup) => Promise<Measurement[]>,
): Promise<Measurement[]> {
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
		await new Kvm(await connect(nats.url)).create(
			bucket.ledger,
			republished(bucket.ledger),
		);
		answerManifests(await connect(nats.urlFor("archive")));
		await client.create(kinds.namespace, { metadata: { name: namespace } });
		void runInstantNode(client, [namespace], log, stop.signal);
		void watch.run(stop.signal);
		return await measure({
			client,
			nats: await connect(nats.url),
			compact: () => controlPlane.compact(),
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
		for (const operator of operators) await operator.stop();
		for (const connection of connections) await connection.close();
		await Promise.all([controlPlane.stop(), nats.stop()]);
	}
}

interface Setup {
	client: KubeClient;
	/** As the user who may do everything. */
	nats: NatsConnection;
	/** Makes room in etcd. */
	compact(): Promise<void>;
	watch: OperatorWatch;
	/** Process id. */
	controllerManager: number;
	start(): Promise<OperatorProcess>;
	say: Say;
}

async function measure(setup: Setup): Promise<Measurement[]> {
	const { client, watch, say } = setup;
	await createAll(client);
	say("created all resources");

	const startMs = performance.now();
	const first = await setup.start();
	await until("all are Ready", 60 * counts.pipelines, () => watch.allReady);
	const allReadySeconds = secondsSince(startMs);
	say(`all Ready after ${allReadySeconds.toFixed(1)} s`);
	const firstPeak = (await memory(first.pid)).peakBytes;
	await first.stop();

	const restartMs = performance.now();
	const operator = await setup.start();
	await until("the restarted operator has reconciled all", 300_000, () =>
		isCaughtUp(operator),
	);
	const restartSeconds = secondsSince(restartMs);
	const restartWrites = writesIn(await operator.metrics());
	say(`reconciled all ${restartSeconds.toFixed(1)} s after a restart`);
	const starts = [
		figure("first start until all are Ready", allReadySeconds, "s", {
			atMost: counts.pipelines / 250,
		}),
		figure("restart until all are reconciled", restartSeconds, "s", {
			atMost: 60,
		}),
		figure("writes of a restart, dry runs too", restartWrites, "", {
			atMost: 100,
		}),
	];
	if (counts.cronJobs === 0) {
		const { peakBytes } = await memory(operator.pid);
		return [
			...starts,
			figure("peak memory of the first start", firstPeak / 1024 ** 2, "MiB"),
			figure("peak memory of a restart", peakBytes / 1024 ** 2, "MiB", {
				atMost: 600,
			}),
		];
	}

	const readyMs = await applyEach(setup);
	say(`applied ${readyMs.length} resources one by one`);
	const rest = await measureRest(setup, operator);
	say("measured the operator at rest");
	const dueMs = await makeDue(client);
	say("waiting until Pipelines come due");

	const runLatenessMs = await lateness(watch.runs, "pipeline", dueMs);
	say("the Pipelines' Runs exist");
	const jobLatenessMs = await lateness(
		watch.cronJobsJobs,
		"cronjob",
		dueMs + 60_000,
	);
	const ours = await memory(operator.pid);
	const stock = await memory(setup.controllerManager);
	const mebibytes = (bytes: number) => bytes / 1024 ** 2;
	return [
		...starts,
		compared(
			"resident memory",
			"MiB",
			mebibytes(ours.residentBytes),
			mebibytes(stock.residentBytes),
			{ atMost: 130 },
		),
		figure(
			"requests at rest without the Lease's",
			rest.requestsPerMinute,
			"/min",
			{ atMost: 30 },
		),
		compared("CPU at rest", "% of a core", rest.ours, rest.stock, {
			atMost: 2,
		}),
		figure("apply to Ready, p99", percentile(readyMs, 0.99), "ms", {
			atMost: 1_000,
		}),
		compared(
			`lateness of ${counts.due} due at once, p99`,
			"ms",
			percentile(runLatenessMs, 0.99),
			percentile(jobLatenessMs, 0.99),
			{ ratioAtMost: 1 },
		),
	];
}

/** Whether the restarted operator has reconciled every object, with nothing left to do. */
async function isCaughtUp(operator: OperatorProcess): Promise<boolean> {
	const metrics = await operator.metrics();
	return (
		sumOf(metrics, "workqueue_depth") === 0 &&
		sumOf(metrics, "controller_runtime_active_workers") === 0 &&
		sumOf(metrics, "controller_runtime_reconcile_total") >=
			counts.sources + counts.destinations + counts.pipelines
	);
}

/** Requests that aren't reads, Leases and Events among them. */
function writesIn(metrics: ReadonlyMap<string, number>): number {
	const of = (label = "") =>
		sumOf(metrics, "rest_client_requests_total", label);
	return of() - of('method="GET"');
}

/** Time from apply to Ready of each resource, in milliseconds. */
async function applyEach({ client, watch }: Setup): Promise<number[]> {
	const tookMs: number[] = [];
	for (let i = 0; i < applied; i++)
		for (const kind of [sourceKind, pipelineKind]) {
			const name = `applied-${kind.kind.toLowerCase()}-${i}`;
			const startMs = performance.now();
			await (kind === sourceKind
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
	{ controllerManager }: Setup,
	operator: OperatorProcess,
): Promise<{ ours: number; stock: number; requestsPerMinute: number }> {
	const requests = async () => {
		const metrics = await operator.metrics();
		const count = (label?: string) =>
			sumOf(metrics, "rest_client_requests_total", label);
		// Only the Lease is written by PUT, and each write follows one read.
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

/** How long after `dueMs` each due Run or Job appeared, in milliseconds. */
async function lateness(
	seenMs: ReadonlyMap<string, number>,
	prefix: string,
	dueMs: number,
): Promise<number[]> {
	const slot = `-${dueMs / 60_000}`;
	const dueOnes = () =>
		[...seenMs].filter(
			([name]) => name.startsWith(prefix) && name.endsWith(slot),
		);
	await until(
		"all that are due exist",
		dueMs - Date.now() + 60_000,
		() => dueOnes().length >= counts.due,
	);
	return dueOnes().map(([, ms]) => ms - dueMs);
}

function secondsSince(startMs: number): number {
	return (performance.now() - startMs) / 1000;
}
