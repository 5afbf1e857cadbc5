import {
	type Destination,
	destinationKind,
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
	type Source,
	sourceKind,
} from "../crds/generated/types.ts";
import type { Logger } from "../service/log.ts";
import type { KubeClient } from "./kube/client.ts";
import { Informer } from "./kube/informer.ts";
import { kinds } from "./kube/kinds.ts";
import type { KubeObject, ResourceKind } from "./kube/resource.ts";
import { label, managedByTidemill } from "./labels.ts";

export type Informers = ReturnType<typeof createInformers>;

/** All that the operator watches. What isn't Tidemill's own is watched by label, so that the rest stays out of memory. */
export function createInformers(
	client: KubeClient,
	options: { namespaces: string[] | undefined; log: Logger },
) {
	const follow = <T extends KubeObject>(
		kind: ResourceKind<T>,
		labels: Record<string, string> = {},
	) =>
		new Informer<T>(client, kind, {
			...options,
			labelSelector:
				Object.entries(labels)
					.map((pair) => pair.join("="))
					.join(",") || undefined,
		});
	return {
		sources: follow<Source>(sourceKind),
		destinations: follow<Destination>(destinationKind),
		pipelines: follow<Pipeline>(pipelineKind),
		runs: follow<Run>(runKind),
		/** Those that the operator may read. */
		secrets: follow(kinds.secret, { [label.use]: "true" }),
		jobs: follow(kinds.job, managedByTidemill),
		pods: follow(kinds.pod, managedByTidemill),
	};
}
