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
import {
	heldDestination,
	metadataAlone,
	operationOutline,
	ownKind,
	planOutline,
	podParts,
	withStatus,
	withTemplate,
} from "./held.ts";
import {
	configMapNamesOf,
	namedSchemas,
	plansWithSchemas,
} from "./named-schemas.ts";
import { namedSecrets } from "./named-secrets.ts";
import { credentialSecrets, namesIn } from "./secret-names.ts";

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
		kept: (object: T) => T = ownKind,
		scope: ListScope = {},
	) => new Informer<T>(client, kind, { ...options, ...scope, kept });
	const metadataOf = <T extends KubeObject>(
		kind: ResourceKind<T>,
		scope: ListScope = {},
	) => follow<T>(kind, metadataAlone, { ...scope, metadataOnly: true });
	const ours = {
		labelSelector: `${label.managedBy}=${managedByTidemill[label.managedBy]}`,
	};
	const sources = withSourceLookups(follow<Source>(sourceKind));
	const destinations = withDestinationLookups(
		follow<Destination>(destinationKind, heldDestination),
	);
	const pipelines = withPipelineLookups(
		follow<Pipeline>(pipelineKind, withTemplate("runTemplate")),
	);
	const operations = withOperationLookups(
		follow<Operation>(operationKind, operationOutline),
	);
	const planOutlines = withTrackingPlanLookups(
		follow<TrackingPlan>(trackingPlanKind, planOutline),
	);
	const { log } = options;
	const plans = { operations, trackingPlans: planOutlines };
	return {
		sources,
		destinations,
		pipelines,
		runs: withRunLookups(follow<Run>(runKind)),
		operations,
		trackingPlans: withTrackingPlanLookups(
			plansWithSchemas(client, planOutlines, log),
		),
		/** All Secrets, with what resources name of those that the operator may read. */
		secrets: namedSecrets(
			client,
			metadataOf(kinds.secret),
			{ sources, destinations, pipelines },
			log,
		),
		/** The ConfigMaps that the operator may read, with the schemas that plans name. */
		configMaps: namedSchemas(
			client,
			metadataOf(kinds.configMap, { labelSelector: `${label.use}=true` }),
			plans,
			log,
		),
		/** The metadata of all: their labels say which of them Destinations may use. */
		volumeClaims: metadataOf(kinds.persistentVolumeClaim),
		serviceAccounts: metadataOf(kinds.serviceAccount),
		/**
		 * The metadata of the RoleBindings: those of the REST API's tokens say when a token expires, and a change of another one
		 * may give the operator its permissions in a namespace, or take them. With a binding for all namespaces none does.
		 */
		roleBindings: metadataOf(
			kinds.roleBinding,
			options.namespaces ? {} : { labelSelector: label.token },
		),
		jobs: withJobLookups(follow<Job>(kinds.job, withStatus, ours)),
		pods: withPodLookups(follow<Pod>(kinds.pod, podParts, ours)),
	};
}

// Lookups use an index, since a namespace can have thousands of objects.

/** The names of the Secrets that a Destination refers to. */
export function secretNamesOf(destination: Destination): string[] {
	return namesIn(credentialSecrets(destination));
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

function withTrackingPlanLookups<
	I extends Pick<Informer<TrackingPlan>, "index">,
>(trackingPlans: I) {
	return Object.assign(trackingPlans, {
		ofConfigMap: byName<TrackingPlan>(trackingPlans, configMapNamesOf),
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
	informer: Pick<Informer<T>, "index">,
	namesOf: (object: T) => string[],
): (namespace: string, name: string) => T[] {
	const lookUp = informer.index((object) =>
		namesOf(object).map((name) => `${object.metadata.namespace}/${name}`),
	);
	return (namespace, name) => lookUp(`${namespace}/${name}`);
}
