import { setTimeout as delay } from "node:timers/promises";
import {
	destinationKind,
	pipelineKind,
	runKind,
	sourceKind,
} from "../../../crds/generated/types.ts";
import type { KubeClient } from "../../../packages/kube/client/client.ts";
import {
	type Condition,
	findCondition,
} from "../../../packages/kube/conditions.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import type {
	KubeObject,
	ResourceKind,
} from "../../../packages/kube/resource.ts";
import { Informer } from "../../../packages/kube/watch/informer.ts";
import type { Logger } from "../../../packages/service/log.ts";
import { counts, namespace } from "./objects.ts";

type Reported = KubeObject & {
	status?: { observedGeneration?: number; conditions?: Condition[] };
};

/** Watches the apiserver: what is Ready, and when Runs and Jobs appear. */
export class OperatorWatch {
	readonly #informers: { run(signal: AbortSignal): Promise<void> }[];
	/** `<kind>/<name>` of each Ready resource. A look at thousands every 10 ms would take CPU from what is measured. */
	readonly #ready = new Set<string>();
	/** When each was first seen, in milliseconds since the epoch, by name. */
	readonly runs = new Map<string, number>();
	readonly cronJobsJobs = new Map<string, number>();

	constructor(client: KubeClient, log: Logger) {
		const follow = <T extends KubeObject>(kind: ResourceKind<T>) =>
			new Informer<T>(client, kind, { namespaces: [namespace], log });
		const reported = [sourceKind, destinationKind, pipelineKind].map((kind) => {
			const informer = follow<Reported>(kind);
			informer.onChange((object, _, deleted) => {
				const key = `${kind.kind}/${object.metadata.name}`;
				this.#ready[!deleted && isReady(object) ? "add" : "delete"](key);
			});
			return informer;
		});
		const runs = follow(runKind);
		runs.onChange(({ metadata }, previous) => {
			if (!previous) this.runs.set(metadata.name, Date.now());
		});
		const jobs = follow(kinds.job);
		jobs.onChange(({ metadata }, previous) => {
			const byCronJob = metadata.ownerReferences?.[0]?.kind === "CronJob";
			if (!previous && byCronJob)
				this.cronJobsJobs.set(metadata.name, Date.now());
		});
		this.#informers = [...reported, runs, jobs];
	}

	async run(signal: AbortSignal): Promise<void> {
		await Promise.all(this.#informers.map((informer) => informer.run(signal)));
	}

	get allReady(): boolean {
		return (
			this.#ready.size >=
			counts.sources + counts.destinations + counts.pipelines
		);
	}

	isReady({ kind }: { kind: string }, name: string): boolean {
		return this.#ready.has(`${kind}/${name}`);
	}
}

function isReady(object: Reported): boolean {
	return (
		object.status?.observedGeneration === object.metadata.generation &&
		findCondition(object.status?.conditions, "Ready")?.status === "True"
	);
}

export async function until(
	what: string,
	timeoutMs: number,
	isTrue: () => boolean | Promise<boolean>,
): Promise<void> {
	const deadlineMs = performance.now() + timeoutMs;
	while (!(await isTrue())) {
		if (performance.now() > deadlineMs)
			throw new Error(`waited ${timeoutMs} ms in vain until ${what}`);
		await delay(10);
	}
}
