import {
	destinationKind,
	pipelineKind,
	runKind,
	sourceKind,
} from "../../crds/generated/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type Condition, findCondition } from "../../kube/conditions.ts";
import { kinds } from "../../kube/kinds.ts";
import type { KubeObject, ResourceKind } from "../../kube/resource.ts";
import { Informer } from "../../kube/watch/informer.ts";
import type { Logger } from "../../service/log.ts";
import { counts, namespace } from "./objects.ts";

type Reported = KubeObject & {
	status?: { observedGeneration?: number; conditions?: Condition[] };
};

/** Watches the apiserver: what is Ready, and when Runs and Jobs appear. */
export class OperatorWatch {
	readonly #sources: Informer<Reported>;
	readonly #destinations: Informer<Reported>;
	readonly #pipelines: Informer<Reported>;
	readonly #others: Informer<KubeObject>[];
	/** When each was first seen, in milliseconds since the epoch, by name. */
	readonly runs = new Map<string, number>();
	readonly cronJobsJobs = new Map<string, number>();

	constructor(client: KubeClient, log: Logger) {
		const follow = <T extends KubeObject>(kind: ResourceKind<T>) =>
			new Informer<T>(client, kind, { namespaces: [namespace], log });
		this.#sources = follow<Reported>(sourceKind);
		this.#destinations = follow<Reported>(destinationKind);
		this.#pipelines = follow<Reported>(pipelineKind);
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
		this.#others = [runs, jobs];
	}

	async run(signal: AbortSignal): Promise<void> {
		await Promise.all(
			[this.#sources, this.#destinations, this.#pipelines, ...this.#others].map(
				(informer) => informer.run(signal),
			),
		);
	}

	/** Number of Ready resources. */
	get ready(): number {
		return [this.#sources, this.#destinations, this.#pipelines].reduce(
			(sum, informer) => sum + informer.list().filter(isReady).length,
			0,
		);
	}

	get allReady(): boolean {
		return (
			this.ready >= counts.sources + counts.destinations + counts.pipelines
		);
	}

	isReady(kind: "source" | "pipeline", name: string): boolean {
		const informer = kind === "source" ? this.#sources : this.#pipelines;
		return isReady(informer.get(namespace, name));
	}
}

function isReady(object: Reported | undefined): boolean {
	return (
		object !== undefined &&
		object.status?.observedGeneration === object.metadata.generation &&
		findCondition(object.status?.conditions, "Ready")?.status === "True"
	);
}
