import {
	destinationKind,
	type PipelineSchedule,
	pipelineKind,
	sourceKind,
} from "../../../crds/generated/types.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import type { KubeClient } from "../../../packages/kube/client/client.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import type {
	KubeObject,
	ResourceKind,
} from "../../../packages/kube/resource.ts";
import {
	counts,
	cronAt,
	cronJob,
	cronJobKind,
	destination,
	distantSchedule,
	nameOf,
	pipeline,
	source,
	volumeClaim,
} from "./objects.ts";

/** Creates all Sources, Destinations, Pipelines and CronJobs. None comes due soon. */
export async function createAll(client: KubeClient): Promise<void> {
	const nowMs = Date.now();
	await apply(client, kinds.persistentVolumeClaim, volumeClaim);
	await inParallel([
		...indexes(counts.sources).map(
			(i) => () => apply(client, sourceKind, source(nameOf("source", i))),
		),
		...indexes(counts.destinations).map(
			(i) => () =>
				apply(client, destinationKind, destination(nameOf("destination", i))),
		),
		...indexes(counts.pipelines).map(
			(i) => () => applyPipeline(client, i, distantSchedule(i, nowMs)),
		),
		...indexes(counts.cronJobs).map(
			(i) => () => applyCronJob(client, i, nowMs + 12 * 3_600_000),
		),
	]);
}

/**
 * Makes Pipelines due at one full minute, which it returns, and as many CronJobs due at the next, so that they don't
 * disturb each other.
 */
export async function makeDue(client: KubeClient): Promise<number> {
	const dueMs = Math.ceil((Date.now() + 20_000) / 60_000) * 60_000;
	const schedule = {
		type: "Cron",
		cron: cronAt(dueMs),
		timeZone: "UTC",
	} as const;
	await inParallel([
		...indexes(counts.due).map((i) => () => applyPipeline(client, i, schedule)),
		...indexes(counts.due).map(
			(i) => () => applyCronJob(client, i, dueMs + 60_000),
		),
	]);
	return dueMs;
}

function applyPipeline(
	client: KubeClient,
	index: number,
	schedule: PipelineSchedule,
): Promise<unknown> {
	const name = nameOf("pipeline", index);
	return apply(client, pipelineKind, pipeline(name, index, schedule));
}

function applyCronJob(
	client: KubeClient,
	index: number,
	atMs: number,
): Promise<unknown> {
	const object = cronJob(nameOf("cronjob", index), cronAt(atMs));
	return apply(client, cronJobKind, object);
}

function indexes(count: number): number[] {
	return Array.from({ length: count }, (_, index) => index);
}

function inParallel(tasks: (() => Promise<unknown>)[]): Promise<unknown> {
	return mapConcurrently(tasks, 16, (task) => task());
}

/** Applies like `kubectl apply --server-side`. */
export function apply<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	object: KubeObject,
): Promise<T> {
	return client.apply(kind, object, { fieldManager: "bench" });
}
