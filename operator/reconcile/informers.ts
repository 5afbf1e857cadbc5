import {
	type Destination,
	destinationKind,
	type Operation,
	operationKind,
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
import {
	latestViewOf,
	otherTypesTableOf,
	rejectedTableOf,
	tableNameOf,
	typeTablesOf,
} from "../../crds/table-name.ts";
import type {
	KubeClient,
	ListScope,
} from "../../packages/kube/client/client.ts";
import {
	isGone,
	isOver,
	type Job,
	kinds,
	type Pod,
} from "../../packages/kube/kinds.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import {
	Informer,
	type InformerOptions,
} from "../../packages/kube/watch/informer.ts";
import { warehouseOf } from "../../packages/warehouses/registry.ts";

export type Informers = ReturnType<typeof createInformers>;

/** All that the operator watches. Objects that aren't Tidemill's own are watched by label, to keep the others out of memory. */
export function createInformers(
	client: KubeClient,
	options: Pick<InformerOptions, "whenPermitted" | "log"> & {
		namespaces: string[] | undefined;
	},
) {
	const follow = <T extends KubeObject>(
		kind: ResourceKind<T>,
		scope: ListScope = {},
	) => new Informer<T>(client, kind, { ...options, ...scope });
	const ours = {
		labelSelector: `${label.managedBy}=${managedByTidemill[label.managedBy]}`,
	};
	return {
		sources: withSourceLookups(follow<Source>(sourceKind)),
		destinations: withDestinationLookups(follow<Destination>(destinationKind)),
		pipelines: withPipelineLookups(follow<Pipeline>(pipelineKind)),
		runs: withRunLookups(follow<Run>(runKind)),
		operations: withOperationLookups(follow<Operation>(operationKind)),
		trackingPlans: withTrackingPlanLookups(
			follow<TrackingPlan>(trackingPlanKind),
		),
		/** The Secrets that the operator may read. */
		secrets: follow(kinds.secret, { labelSelector: `${label.use}=true` }),
		/** The metadata of the other Secrets, for a message to who forgot the label. */
		unlabelledSecrets: follow(kinds.secret, {
			labelSelector: `${label.use}!=true`,
			metadataOnly: true,
		}),
		/** The ConfigMaps that the operator may read. */
		configMaps: follow(kinds.configMap, { labelSelector: `${label.use}=true` }),
		/** The metadata of all: their labels say which of them Destinations may use. */
		volumeClaims: follow(kinds.persistentVolumeClaim, { metadataOnly: true }),
		serviceAccounts: follow(kinds.serviceAccount, { metadataOnly: true }),
		/**
		 * The metadata of the RoleBindings: those of the REST API's tokens say when a token expires, and a change of another one
		 * may give the operator its permissions in a namespace, or take them. With a binding for all namespaces none does.
		 */
		roleBindings: follow(kinds.roleBinding, {
			...(!options.namespaces && { labelSelector: label.token }),
			metadataOnly: true,
		}),
		jobs: withJobLookups(follow(kinds.job, ours)),
		pods: withPodLookups(follow(kinds.pod, ours)),
	};
}

// Lookups use an index, since a namespace can have thousands of objects.

/** The names of the Secrets that a Destination refers to. */
export function secretNamesOf({ spec }: Destination): string[] {
	const warehouse = warehouseOf(spec);
	const uses = warehouse?.definition.secrets?.(warehouse.own) ?? [];
	return uses.map(({ name }) => name);
}

/** The name of the PersistentVolumeClaim that a Destination refers to. */
export function volumeClaimNameOf({ spec }: Destination): string | undefined {
	const warehouse = warehouseOf(spec);
	return warehouse?.definition.volume?.(warehouse.own).claimName;
}

function withSourceLookups(sources: Informer<Source>) {
	return Object.assign(sources, {
		/** Those whose status has the source key: one, unless somebody copied its Secret. */
		withKey: byName(sources, ({ status }) =>
			status?.sourceKey === undefined ? [] : [status.sourceKey],
		),
		ofTrackingPlan: byName(sources, planNamesOf),
	});
}

/** The name of the TrackingPlan that a Source names. */
export function planNamesOf({ spec }: Source): string[] {
	const name = spec.webhook?.trackingPlanRef?.name;
	return name === undefined ? [] : [name];
}

/** The names of the ConfigMaps that hold a plan's schemas. */
export function configMapNamesOf({ spec }: TrackingPlan): string[] {
	const events = spec.events ?? [];
	const all = [spec.commonFrom, ...events.map(({ schemaFrom }) => schemaFrom)];
	const names = all.flatMap((from) => from?.configMapKeyRef.name ?? []);
	return [...new Set(names)];
}

function withTrackingPlanLookups(trackingPlans: Informer<TrackingPlan>) {
	return Object.assign(trackingPlans, {
		ofConfigMap: byName(trackingPlans, configMapNamesOf),
	});
}

function withDestinationLookups(destinations: Informer<Destination>) {
	return Object.assign(destinations, {
		/** Those whose credentials are in the Secret. */
		ofSecret: byName(destinations, secretNamesOf),
		ofVolumeClaim: byName(destinations, (destination) => {
			const name = volumeClaimNameOf(destination);
			return name === undefined ? [] : [name];
		}),
		ofServiceAccount: byName(destinations, ({ spec }) =>
			spec.serviceAccountName ? [spec.serviceAccountName] : [],
		),
	});
}

/** What Pipelines into a table of the same name in any warehouse have in common. Ignores case. */
export function tableKeyOf(namespace: string, table: string): string {
	return `${namespace}/${table.toLowerCase()}`;
}

function withPipelineLookups(pipelines: Informer<Pipeline>) {
	const tablesOf = (pipeline: Pipeline) => {
		const { metadata, spec } = pipeline;
		const name = tableNameOf(metadata.name, spec.table.name);
		const names = [
			name,
			...(spec.table.rejectedValues ? [rejectedTableOf(name)] : []),
			...(spec.table.latestBy ? [latestViewOf(name)] : []),
			...(spec.table.perEventType
				? [
						otherTypesTableOf(name),
						...typeTablesOf(pipeline).map(({ table }) => table),
					]
				: []),
		];
		return names.map((name) => ({
			name,
			key: tableKeyOf(metadata.namespace!, name),
		}));
	};
	const intoTable = pipelines.index((pipeline) =>
		tablesOf(pipeline).map(({ key }) => key),
	);
	return Object.assign(pipelines, {
		ofSource: byName(pipelines, ({ spec }) => [spec.sourceRef.name]),
		ofDestination: byName(pipelines, ({ spec }) => [spec.destinationRef.name]),
		/**
		 * The tables that Runs write to, but for that of quarantine, whose name no other table may have; with their {@link tableKeyOf}.
		 */
		tablesOf,
		/** The Pipelines into a table, by its key. */
		intoTable,
	});
}

function withRunLookups(runs: Informer<Run>) {
	return Object.assign(runs, {
		ofPipeline: byName(runs, ({ spec }) => [spec.pipelineRef.name]),
		/** The Runs of a namespace that haven't ended. */
		open: runs.index((run) => (hasEnded(run) ? [] : [run.metadata.namespace!])),
	});
}

function withOperationLookups(operations: Informer<Operation>) {
	return Object.assign(operations, {
		/** The Operations of a namespace that haven't ended. */
		open: operations.index((operation) =>
			hasEnded(operation) ? [] : [operation.metadata.namespace!],
		),
		ofSource: byName(operations, ({ spec }) => [spec.sourceRef.name]),
		ofPlan: byName(operations, ({ spec }) =>
			spec.plan?.name === undefined ? [] : [spec.plan.name],
		),
	});
}

function withJobLookups(jobs: Informer<Job>) {
	return Object.assign(jobs, {
		/** The Jobs of a namespace that aren't over. */
		open: jobs.index((job) => (isOver(job) ? [] : [job.metadata.namespace!])),
	});
}

function withPodLookups(pods: Informer<Pod>) {
	return Object.assign(pods, {
		/** The Pods that the Job with this uid controls. */
		ofJob: pods.index(({ metadata }) =>
			(metadata.ownerReferences ?? [])
				.filter(({ controller }) => controller)
				.map(({ uid }) => uid),
		),
		/** The Pods of a namespace that still have processes, or will. */
		open: pods.index((pod) => (isGone(pod) ? [] : [pod.metadata.namespace!])),
	});
}

/** Looks up the objects of a namespace by names that they have or refer to. */
function byName<T extends KubeObject>(
	informer: Informer<T>,
	namesOf: (object: T) => string[],
): (namespace: string, name: string) => T[] {
	const lookUp = informer.index((object) =>
		namesOf(object).map((name) => `${object.metadata.namespace}/${name}`),
	);
	return (namespace, name) => lookUp(`${namespace}/${name}`);
}
