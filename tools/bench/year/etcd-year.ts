import { pipelineKind, runKind } from "../../../crds/generated/types.ts";
import { addDays } from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { KubeClient } from "../../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../../packages/kube/client/kube-config.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import {
	pipelineOf,
	runOf,
} from "../../../test/support/examples/resource-examples.ts";
import { startControlPlane } from "../../../test/support/servers/servers.ts";
import { memory } from "../measure/process-cost.ts";

export interface EtcdYearOptions {
	days: number;
	pipelines: number;
	/** So many of the Pipelines have a Run a day. */
	runsOfDay: number;
}

/** What Kubernetes' storage has at the end of a day, after the compaction that the apiserver asks for every five minutes. */
export interface EtcdDay {
	day: number;
	/** Of etcd's file. */
	storedBytes: number;
	etcdBytes: number;
	apiserverBytes: number;
	runs: number;
}

const namespace = "year";
const atOnce = 32;
/** Of a Pipeline's `runHistory`, as it is without a word about it. */
const keptRuns = 10;

/** The writes of the operator and of Jobs to a real kube-apiserver and etcd, day by day. No operator is at work. */
export async function liveWithEtcd(
	{ days, pipelines, runsOfDay }: EtcdYearOptions,
	onDay: (day: EtcdDay) => void,
): Promise<void> {
	const controlPlane = await startControlPlane();
	const config = loadKubeConfig(controlPlane.kubeconfig);
	const client = KubeClient.fromConfig(config);
	const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);
	const nameOf = (number: number) => `pipeline-${number}`;
	const merge =
		(kind: typeof pipelineKind | typeof runKind, name: string) =>
		(status: object) =>
			client.patch<never>(kind as never, name, namespace, { status }, "merge", {
				subresource: "status",
			});
	try {
		await client.create(kinds.namespace, { metadata: { name: namespace } });
		await mapConcurrently(numbers(pipelines), atOnce, (number) => {
			const { spec } = pipelineOf();
			const metadata = { name: nameOf(number), namespace };
			const pipeline = { metadata, spec };
			return client.create(pipelineKind, pipeline);
		});
		for (let day = 1; day <= days; day++) {
			const date = addDays("2026-01-01", day);
			const runName = (number: number, of: number) => `${nameOf(number)}-${of}`;
			await mapConcurrently(numbers(runsOfDay), atOnce, async (number) => {
				const pipeline = nameOf(number);
				const name = runName(number, day);
				const { spec } = runOf(name, undefined, {
					spec: { pipelineRef: { name: pipeline } },
				});
				const run = { metadata: { name, namespace }, spec };
				await client.create(runKind, run);
				const startTime = `${date}T00:00:05Z`;
				const ofRun = merge(runKind, name);
				const begun = { trigger: "Schedule", startTime, attempts: 1 };
				await ofRun({ phase: "Pending", trigger: "Schedule" });
				await ofRun({ phase: "Running", ...begun });
				const lastRun = { name, phase: "Succeeded", rows: 4_320_000 };
				const completionTime = `${date}T00:01:00Z`;
				await ofRun({ phase: "Succeeded", ...begun, completionTime });
				await merge(
					pipelineKind,
					pipeline,
				)({
					phase: "Ready",
					lastRun: { ...lastRun, completionTime },
					nextRunTime: `${addDays(date, 1)}T00:00:00Z`,
				});
				const old = runName(number, day - keptRuns);
				if (day > keptRuns) await client.delete(runKind, old, namespace);
			});
			await controlPlane.compact();
			const { etcd, apiserver } = controlPlane.pids;
			onDay({
				day,
				storedBytes: await storedBytes(client),
				etcdBytes: (await memory(etcd)).residentBytes,
				apiserverBytes: (await memory(apiserver)).residentBytes,
				runs: runsOfDay * Math.min(day, keptRuns),
			});
		}
	} finally {
		await controlPlane.stop();
	}
}

async function storedBytes(client: KubeClient): Promise<number> {
	const metrics = await client.rawText("GET", "/metrics");
	const found = /^apiserver_storage_size_bytes\{.*\} (\S+)$/m.exec(metrics);
	if (!found) throw new Error("The apiserver has no storage size");
	return Number(found[1]);
}
