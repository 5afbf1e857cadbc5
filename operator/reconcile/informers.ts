import {
	type Destination,
	destinationKind,
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
	type Source,
	sourceKind,
	type TrackingPlan,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import { label, managedByTidemill } from "../../crds/labels.ts";
import { hasEnded } from "../../crds/run.ts";
import { tableNameOf } from "../../crds/table-name.ts";
import type { KubeClient, Scope } from "../../kube/client/client.ts";
import { kinds, type Secret } from "../../kube/kinds.ts";
import type { KubeObject, ResourceKind } from "../../kube/resource.ts";
import { Informer } from "../../kube/watch/informer.ts";
import type { Logger } from "../../service/log.ts";

export type Informers = ReturnType<typeof createInformers>;

/** All that the operator watches. What isn't Tidemill's own is watched by label, so that the rest stays out of memory. */
export function createInformers(
	client: KubeClient,
	options: { namespaces: string[] | undefined; log: Logger },
) {
	const follow = <T extends KubeObject>(
		kind: ResourceKind<T>,
		scope: Scope = {},
	) => new Informer<T>(client, kind, { ...options, ...scope });
	const ours = {
		labelSelector: `${label.managedBy}=${managedByTidemill[label.managedBy]}`,
	};
	return {
		sources: follow<Source>(sourceKind),
		destinations: follow<Destination>(destinationKind),
		pipelines: withPipelineLookups(follow<Pipeline>(pipelineKind)),
		runs: withRunLookups(follow<Run>(runKind)),
		trackingPlans: follow<TrackingPlan>(trackingPlanKind),
		/** Those that the operator may read. */
		secrets: follow(kinds.secret, { labelSelector: `${label.use}=true` }),
		/** Of the others only that they are there, for a person who forgot the label. */
		unlabelledSecrets: follow(kinds.secret, {
			labelSelector: `${label.use}!=true`,
			metadataOnly: true,
		}),
		jobs: follow(kinds.job, ours),
		pods: follow(kinds.pod, ours),
	};
}

/**
 * A Secret, without its data if it lacks the label. Asked for directly when it isn't in memory, which may be behind: one
 * that was just made, or is on its way from those without the label to those with it.
 */
export async function secretOf(
	{ client, informers }: { client: KubeClient; informers: Informers },
	namespace: string,
	name: string,
): Promise<Secret | undefined> {
	return (
		informers.secrets.get(namespace, name) ??
		informers.unlabelledSecrets.get(namespace, name) ??
		(await client.get(kinds.secret, name, namespace))
	);
}

// What is asked for every object must not go through all others: a namespace can have thousands.

function withPipelineLookups(pipelines: Informer<Pipeline>) {
	const tableOf = ({ metadata, spec }: Pipeline) =>
		tableNameOf(metadata.name, spec.table.name).toLowerCase();
	const intoTable = byName(pipelines, (pipeline) => [tableOf(pipeline)]);
	return Object.assign(pipelines, {
		ofSource: byName(pipelines, ({ spec }) => [spec.sourceRef.name]),
		ofDestination: byName(pipelines, ({ spec }) => [spec.destinationRef.name]),
		/** Those that load into a table of the same name, itself included, in whatever warehouse; case says nothing. */
		withTableOf: (pipeline: Pipeline) =>
			intoTable(pipeline.metadata.namespace!, tableOf(pipeline)),
	});
}

function withRunLookups(runs: Informer<Run>) {
	return Object.assign(runs, {
		ofPipeline: byName(runs, ({ spec }) => [spec.pipelineRef.name]),
		/** Those of a namespace that haven't ended. */
		open: runs.index((run) => (hasEnded(run) ? [] : [run.metadata.namespace!])),
	});
}

/** The lookup of objects of a namespace by a name that they have or refer to. */
function byName<T extends KubeObject>(
	informer: Informer<T>,
	namesOf: (object: T) => string[],
): (namespace: string, name: string) => T[] {
	const lookUp = informer.index((object) =>
		namesOf(object).map((name) => `${object.metadata.namespace}/${name}`),
	);
	return (namespace, name) => lookUp(`${namespace}/${name}`);
}
