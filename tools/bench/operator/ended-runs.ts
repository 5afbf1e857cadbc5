import type { OperatorContext } from "../../../operator/reconcile/context.ts";
import { createInformers } from "../../../operator/reconcile/informers.ts";
import { decide } from "../../../operator/run/decide.ts";
import { readRun } from "../../../operator/run/state.ts";
import { type KubeObject, keyOf } from "../../../packages/kube/resource.ts";
import { createLog } from "../../../packages/service/log.ts";
import { listedClient } from "../../../test/support/doubles/kubernetes/listed-client.ts";
import {
	destinationOf,
	pipelineOf,
	runOf,
	sourceOf,
} from "../../../test/support/examples/resource-examples.ts";
import {
	type Bench,
	compared,
	type Measurement,
} from "../measure/measurement.ts";

const few = 100;
const many = 10_000;

/** What a restarted operator does about each Run that has ended, whose Job and Pod nobody has removed. */
export const bench: Bench = {
	about: `a reconcile among ${many} ended Runs, in memory; baseline: among ${few}`,
	async run(say): Promise<Measurement[]> {
		const baseline = await microsecondsPerRun(few);
		say(`reconciled ${few} ended Runs`);
		const value = await microsecondsPerRun(many);
		say(`reconciled ${many} ended Runs`);
		return [compared("reconcile of an ended Run", "µs", value, baseline)];
	},
};

async function microsecondsPerRun(count: number): Promise<number> {
	const stop = new AbortController();
	const context = contextOf(objectsOf(count));
	const { informers } = context;
	const running = Object.values(informers).map((each) => each.run(stop.signal));
	await Promise.all(Object.values(informers).map(({ synced }) => synced));
	const runs = informers.runs.list("shop");
	// The first thousand warm up the compiler.
	const rounds = Math.ceil(2_000 / count);
	let startMs = performance.now();
	for (let round = -rounds; round < rounds; round++) {
		if (round === 0) startMs = performance.now();
		for (const run of runs) {
			const now = Date.now();
			const outcomes = { progress: undefined };
			const state = await readRun(context, keyOf(run), outcomes, now);
			decide(state!, now);
		}
	}
	const tookMs = performance.now() - startMs;
	stop.abort();
	await Promise.all(running);
	return (1_000 * tookMs) / (rounds * count);
}

function contextOf(objects: Record<string, KubeObject[]>): OperatorContext {
	const log = createLog("bench");
	const client = listedClient(objects);
	const informers = createInformers(client, { namespaces: undefined, log });
	return {
		client,
		informers,
		image: "tidemill",
		log,
	} as unknown as OperatorContext;
}

function objectsOf(count: number): Record<string, KubeObject[]> {
	const completionTime = "2026-03-31T12:00:00Z";
	const names = Array.from({ length: count }, (_, i) => `orders-${i}`);
	const owned = (name: string, owner: string) => ({
		name,
		namespace: "shop",
		uid: `uid-${name}`,
		resourceVersion: "1",
		ownerReferences: [
			{ apiVersion: "", kind: "", name: owner, uid: owner, controller: true },
		],
	});
	return {
		sources: [sourceOf()],
		destinations: [destinationOf()],
		pipelines: [pipelineOf()],
		runs: names.map((name) =>
			runOf(name, { phase: "Succeeded", completionTime }),
		),
		jobs: names.map((name) => ({
			metadata: owned(`of-${name}`, `uid-${name}`),
			status: { conditions: [{ type: "Complete", status: "True" }] },
		})),
		pods: names.map((name) => ({
			metadata: owned(`pod-${name}`, `uid-of-${name}`),
			status: { phase: "Succeeded" },
		})),
	};
}
