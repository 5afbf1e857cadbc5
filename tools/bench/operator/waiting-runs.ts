import { setTimeout as delay } from "node:timers/promises";
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import {
	type Destination,
	destinationKind,
	type PipelineSpec,
	pipelineKind,
	type Run,
	runKind,
	sourceKind,
} from "../../../crds/generated/types.ts";
import { newRun } from "../../../crds/run.ts";
import { bucket } from "../../../packages/contracts/nats.ts";
import { KubeClient } from "../../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../../packages/kube/client/kube-config.ts";
import { findCondition } from "../../../packages/kube/conditions.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import { Informer } from "../../../packages/kube/watch/informer.ts";
import { createLog } from "../../../packages/service/log.ts";
import { connectNats } from "../../../packages/service/nats/connection.ts";
import { Settings } from "../../../packages/service/settings.ts";
import { answerManifests } from "../../../test/support/doubles/instant-archive.ts";
import { runInstantNode } from "../../../test/support/doubles/kubernetes/instant-node.ts";
import {
	startControlPlane,
	startNats,
} from "../../../test/support/servers/servers.ts";
import {
	type Bench,
	compared,
	type Measurement,
} from "../measure/measurement.ts";
import { apply } from "./creation.ts";
import {
	destination,
	namespace,
	source,
	volumeClaim,
	type Written,
} from "./objects.ts";
import { startOperator } from "./operator-process.ts";

const log = createLog("bench");
log.level = "warn";
const queues = [10, 100, 1_000];
/** One figure is taken until so many Runs have begun, each of which takes part of a second, or so much time is over. */
const begun = 30;
const longestMs = 60_000;

/** How fast the Runs into one warehouse follow each other when many wait: their Jobs end at once. */
export const bench: Bench = {
	about: `Runs of one warehouse, whose Jobs end at once, while others wait; baseline: ${queues[0]} wait`,
	async run(say): Promise<Measurement[]> {
		const [controlPlane, nats] = await Promise.all([
			startControlPlane(),
			startNats(),
		]);
		const stop = new AbortController();
		const connections: NatsConnection[] = [];
		const connect = async (NATS_URL: string) => {
			const settings = new Settings({ NATS_URL });
			const connection = await connectNats(settings, "archive", log);
			connections.push(connection);
			return connection;
		};
		const { kubeconfig } = controlPlane;
		const client = KubeClient.fromConfig(loadKubeConfig(kubeconfig));
		let operator: Awaited<ReturnType<typeof startOperator>> | undefined;
		try {
			await new Kvm(await connect(nats.url)).create(bucket.ledger);
			answerManifests(await connect(nats.urlFor("archive")));
			await client.create(kinds.namespace, { metadata: { name: namespace } });
			void runInstantNode(client, [namespace], log, stop.signal);
			await apply(client, kinds.persistentVolumeClaim, volumeClaim);
			await apply(client, sourceKind, source("source"));
			const natsUrl = nats.urlFor("operator");
			operator = await startOperator({ kubeconfig, natsUrl });
			const perMinute: number[] = [];
			for (const waiting of queues) {
				perMinute.push(await begunPerMinute(client, waiting, stop.signal));
				say(`${waiting} wait: ${perMinute.at(-1)!.toFixed(0)} begin a minute`);
			}
			return queues.map((waiting, index) =>
				compared(
					`Runs begun while ${waiting} wait`,
					"/min",
					perMinute[index]!,
					perMinute[0]!,
					{ ratioAtLeast: 0.8 },
				),
			);
		} finally {
			stop.abort();
			await operator?.stop();
			for (const connection of connections) await connection.close();
			await Promise.all([controlPlane.stop(), nats.stop()]);
		}
	},
};

/** With a warehouse of its own, which a first Run holds until all others wait. */
async function begunPerMinute(
	client: KubeClient,
	waiting: number,
	signal: AbortSignal,
): Promise<number> {
	const name = `queue-${waiting}`;
	await apply(client, destinationKind, destination(name));
	await until(async () => {
		const found = await client.get<Destination>(
			destinationKind,
			name,
			namespace,
		);
		return findCondition(found?.status?.conditions, "Ready")?.status === "True";
	});
	const pipeline: Written<PipelineSpec> = {
		metadata: { name, namespace },
		spec: {
			sourceRef: { name: "source" },
			destinationRef: { name },
			schedule: { type: "Manual", timeZone: "UTC" },
			// Pruning is no part of the queue.
			runHistory: { succeeded: 100, failed: 100, days: 30 },
		},
	};
	await apply(client, pipelineKind, pipeline);
	const begunNames = new Set<string>();
	const seenNames = new Set<string>();
	const runs = new Informer<Run>(client, runKind, {
		namespaces: [namespace],
		log,
	});
	runs.onChange(({ metadata, spec, status }) => {
		if (spec.pipelineRef.name !== name) return;
		if (status?.phase) seenNames.add(metadata.name);
		if (status?.startTime) begunNames.add(metadata.name);
	});
	const stop = new AbortController();
	const watching = runs.run(AbortSignal.any([stop.signal, signal]));
	const count = waiting + begun * 2;
	for (let created = 0; created < count; created += 20)
		await Promise.all(
			Array.from({ length: Math.min(20, count - created) }, (_, index) => {
				const metadata = { name: `${name}-${created + index}`, namespace };
				return client.create(runKind, newRun(name, metadata));
			}),
		);
	// Each says by now that it waits. Some have begun meanwhile.
	await until(async () => seenNames.size === count);
	const already = begunNames.size;
	const startMs = performance.now();
	await until(
		async () =>
			begunNames.size >= already + begun ||
			performance.now() - startMs > longestMs,
	);
	const minutes = (performance.now() - startMs) / 60_000;
	const perMinute = (begunNames.size - already) / minutes;
	stop.abort();
	await watching;
	// The rest would hold up the next figure.
	const { items } = await client.list<Run>(runKind, { namespace });
	for (const { metadata } of items)
		await client.delete(runKind, metadata.name, namespace);
	return perMinute;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
	for (const endMs = performance.now() + 300_000; !(await isSo()); ) {
		if (performance.now() > endMs) throw new Error("the bench waits in vain");
		await delay(20);
	}
}
