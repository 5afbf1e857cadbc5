import { decide as decidePipeline } from "../../../operator/pipeline/decide.ts";
import { referencesOf } from "../../../operator/pipeline/state.ts";
import type { OperatorContext } from "../../../operator/reconcile/context.ts";
import { createInformers } from "../../../operator/reconcile/informers.ts";
import { decide as decideSource } from "../../../operator/source/decide.ts";
import { routeOf } from "../../../operator/source/routes/decide.ts";
import { ShardLoads } from "../../../operator/source/shard-loads.ts";
import type { SourceLedger } from "../../../packages/contracts/ledger.ts";
import type { Route } from "../../../packages/contracts/route.ts";
import type { KubeObject } from "../../../packages/kube/resource.ts";
import { createLog } from "../../../packages/service/log.ts";
import { listedClient } from "../../../test/support/doubles/kubernetes/listed-client.ts";
import {
	destinationOf,
	noWebhooks,
	pipelineOf,
	sourceOf,
} from "../../../test/support/examples/resource-examples.ts";
import { stateWith } from "../../../test/support/fixtures/control-plane/source-state.ts";
import { heldBytes } from "../measure/held-bytes.ts";
import { type Bench, compared, figure } from "../measure/measurement.ts";
import { distantSchedule } from "../operator/objects.ts";

const [few, many] = [
	{ pipelines: 2_000, sources: 500, destinations: 50 },
	{ pipelines: 20_000, sources: 5_000, destinations: 500 },
];
const rounds = 3;
/** So many of the Pipelines, in each round. */
const decided = 1_000;
const namespaces = 50;
const shards = 8;
const nowMs = Date.parse("2026-03-02T12:00:30Z");

/** What the operator holds and decides, in memory: ten times the resources must cost each of them no more. */
export const bench: Bench = {
	about: `${many.pipelines} Pipelines, ${many.sources} Sources and ${many.destinations} Destinations in ${namespaces} namespaces, in memory; baseline: ${few.pipelines}, ${few.sources} and ${few.destinations}`,
	async run(say) {
		const found = { few: await measure(few), many: await measure(many) };
		say("held and decided");
		return [
			compared(
				"memory of a resource",
				"bytes",
				found.many.bytesEach,
				found.few.bytesEach,
			),
			figure("memory of all", found.many.bytes / 1024 ** 2, "MiB"),
			compared(
				"CPU of a Pipeline's decision",
				"µs",
				found.many.pipelineUs,
				found.few.pipelineUs,
			),
			compared(
				"CPU of a Source's decision",
				"µs",
				found.many.sourceUs,
				found.few.sourceUs,
			),
			compared(
				"CPU to place a new Source",
				"µs",
				found.many.placeUs,
				found.few.placeUs,
			),
		];
	},
};

async function measure(counts: typeof many) {
	const before = heldBytes();
	const log = createLog("bench");
	const informers = createInformers(listedClient(objectsOf(counts)), {
		namespaces: undefined,
		log,
	});
	const stop = new AbortController();
	const running = Object.values(informers).map((each) => each.run(stop.signal));
	await Promise.all(Object.values(informers).map(({ synced }) => synced));
	const bytes = heldBytes() - before;

	const context = { informers, podPolicy: {} } as unknown as OperatorContext;
	const sources = informers.sources.list();
	const ledgers = new Map(
		sources.map(({ status }) => [status!.sourceKey!, ledgerOf(status!)]),
	);
	const routes = new Map(sources.map((source) => [source, keysOf(source)]));
	const pipelines = informers.pipelines.list();
	const chosen = pipelines.filter(
		(_, i) => i % Math.ceil(pipelines.length / decided) === 0,
	);
	const pipelineUs: number[] = [];
	const sourceUs: number[] = [];
	const placeUs: number[] = [];
	for (let round = 0; round <= rounds; round++) {
		const ofPipelines = cpuUsOfEach(chosen, (pipeline) => {
			const references = referencesOf(context, pipeline);
			const more = { runs: [], notifications: noWebhooks };
			decidePipeline({ ...references, ...more }, nowMs);
		});
		const all = cpuUsOfEach(sources, (source) => {
			const { keys, published } = routes.get(source)!;
			const ledger = ledgers.get(keys.sourceKey);
			decideSource(
				stateWith({ source, keys, published, ledger, shards }),
				nowMs,
			);
		});
		const loads = new ShardLoads({
			shards,
			sources: informers.sources,
			ledgers,
			backlogs: { isFilling: () => false },
			now: () => nowMs,
		});
		const placed = cpuUsOfEach(sources, ({ metadata }) =>
			loads.place({ metadata: { ...metadata, namespace: "new" } }),
		);
		// The first round warms up the compiler.
		if (round === 0) continue;
		pipelineUs.push(ofPipelines);
		sourceUs.push(all);
		placeUs.push(placed);
	}
	stop.abort();
	await Promise.all(running);
	const resources = counts.pipelines + counts.sources + counts.destinations;
	const bytesEach = bytes / resources;
	return { bytes, bytesEach, pipelineUs, sourceUs, placeUs };
}

function cpuUsOfEach<T>(list: readonly T[], act: (each: T) => unknown): number {
	const before = process.cpuUsage();
	for (const each of list) act(each);
	const { user, system } = process.cpuUsage(before);
	return (user + system) / list.length;
}

function objectsOf(counts: typeof many): Record<string, KubeObject[]> {
	const list = <T extends KubeObject>(count: number, make: (i: number) => T) =>
		Array.from({ length: count }, (_, i) => {
			const object = make(i);
			const namespace = `account-${i % namespaces}`;
			// As they come from the apiserver, nothing is shared.
			return structuredClone({
				...object,
				metadata: { ...object.metadata, namespace },
			});
		});
	const sourceStatus = (i: number) => ({
		...sourceOf().status,
		sourceKey: String(i).padStart(32, "0"),
		shard: i % shards,
		webhookURL: `https://hooks.example.com/hooks/${"0".repeat(32)}/${"1".repeat(32)}`,
	});
	return {
		sources: list(counts.sources, (i) =>
			sourceOf(`source-${i}`, sourceStatus(i)),
		),
		destinations: list(counts.destinations, (i) =>
			destinationOf(`destination-${i}`, `${i}.duckdb`),
		),
		pipelines: list(counts.pipelines, (i) =>
			pipelineOf(
				{
					// Of the same namespace.
					sourceRef: { name: `source-${i % counts.sources}` },
					destinationRef: { name: `destination-${i % counts.destinations}` },
					schedule: distantSchedule(i, nowMs),
				},
				{ name: `pipeline-${i}` },
			),
		),
	};
}

function keysOf(source: ReturnType<typeof sourceOf>) {
	const { sourceKey, shard } = source.status!;
	const keys = {
		sourceKey: sourceKey!,
		urlKey: "1".repeat(32),
		shard: shard!,
		shards: [shard!],
	};
	const published: Route = routeOf(source, keys, { type: "None" });
	return { keys, published };
}

/** A month of events. */
function ledgerOf(status: { sourceKey?: string }): SourceLedger {
	const archived = Object.fromEntries(
		Array.from({ length: 30 }, (_, i) => [
			new Date(nowMs - i * 86_400_000).toISOString().slice(0, 10),
			10_000 + i,
		]),
	);
	return {
		version: 1,
		account: "shop",
		sourceKey: status.sourceKey!,
		firstEventDate: "2026-01-01",
		lastEventTime: "2026-03-02T12:00:00.000Z",
		archivedThrough: "2026-03-02T12:00:00.000Z",
		archived,
	};
}
