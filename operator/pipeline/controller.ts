import {
	type Destination,
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
	type TrackingPlan,
} from "../../crds/generated/types.ts";
import {
	annotation,
	fieldManager,
	label,
	managedByTidemill,
} from "../../crds/labels.ts";
import { newRun } from "../../crds/run.ts";
import {
	hasReason,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import {
	type ControllerLoop,
	specChanged,
	specMatters,
} from "../../packages/kube/reconcile/controller.ts";
import {
	controllerReference,
	keyOf,
	type ObjectKey,
	textOf,
} from "../../packages/kube/resource.ts";
import type { NotificationDeps } from "../notification/state.ts";
import { webhookSecretsOf } from "../notification/webhooks.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { createResourceLoop } from "../reconcile/resource-loop.ts";
import { notReady } from "../reconcile/while-permitted.ts";
import { decide, type PipelineAction } from "./decide.ts";
import { JobTrials } from "./job-trial.ts";
import {
	dependsOnPlan,
	type PipelineOutcome,
	type PipelineState,
	readPipeline,
} from "./state.ts";

/** Creates a Pipeline's scheduled Runs, keeps its status, and prunes its ended Runs. The loop doesn't run yet. */
export function createPipelineController(
	context: OperatorContext & NotificationDeps,
): ControllerLoop {
	const { client, informers, outbox } = context;
	const trials = new JobTrials(context);
	const loop = createResourceLoop<
		Pipeline,
		PipelineState,
		PipelineAction,
		PipelineOutcome
	>(context, {
		name: "pipeline",
		known: informers.pipelines,
		verb: "Reconcile",
		// Many Pipelines are due at once on a full hour.
		workers: 16,
		notPermitted: notReady({ phase: "Error" }),
		read: (pipeline, { outcome }) =>
			readPipeline(context, pipeline, trials, outcome),
		decide,
		objectIn: ({ pipeline }) => pipeline,
		async apply(action, pipeline, { notifications }) {
			switch (action.type) {
				case "createRun": {
					const namesake = await createRun(client, pipeline, action.name);
					return namesake ? { outcome: { namesake } } : pipeline;
				}
				case "deleteRun": {
					const { name, namespace, uid } = action.run.metadata;
					await client.delete(runKind, name, namespace, { uid });
					return pipeline;
				}
				case "notify": {
					const { usable } = notifications.webhooks;
					const { due } = action;
					return {
						outcome: {
							handedOver: await outbox.handOver(pipeline, due, usable),
						},
					};
				}
			}
		},
	});
	loop.watch(informers.pipelines);
	// Pipelines into a table of the same name, in warehouses that may be the same.
	const { tablesOf, intoTable } = informers.pipelines;
	const tableKeysOf = (pipeline: Pipeline) =>
		tablesOf(pipeline).map(({ key }) => key);
	const contenders = (table: string): ObjectKey[] =>
		intoTable(table).map(keyOf);
	loop.watchGroups<Pipeline>(informers.pipelines, {
		groupsOf: tableKeysOf,
		membersOf: contenders,
		matters: specMatters,
	});
	const nameOf = (destination: Destination) => textOf(keyOf(destination));
	const usersAndContenders = (destination: string): ObjectKey[] => {
		const [namespace = "", name = ""] = destination.split("/");
		const users = informers.pipelines.ofDestination(namespace, name);
		// Each table once: thousands of users may have the same.
		const tables = new Set(users.flatMap(tableKeysOf));
		return [...users.map(keyOf), ...[...tables].flatMap(contenders)];
	};
	loop.watchGroups(informers.destinations, {
		groupsOf: (destination) => [nameOf(destination)],
		membersOf: usersAndContenders,
	});
	loop.watchGroups(informers.secrets, {
		groupsOf: ({ metadata: { namespace, name } }) =>
			informers.destinations.ofSecret(namespace!, name).map(nameOf),
		membersOf: usersAndContenders,
	});
	const tellingBy = informers.pipelines.index((pipeline) =>
		webhookSecretsOf(pipeline).map((name) =>
			textOf({ ...keyOf(pipeline), name }),
		),
	);
	loop.watch(informers.secrets, (secret) =>
		tellingBy(textOf(keyOf(secret))).map(keyOf),
	);
	outbox.onChange(({ kind, account, name }) => {
		if (kind === "Pipeline") loop.enqueue({ namespace: account, name });
	});
	loop.watch(informers.sources, ({ metadata }) =>
		informers.pipelines.ofSource(metadata.namespace!, metadata.name).map(keyOf),
	);
	const typedBy = ({ metadata }: TrackingPlan) =>
		informers.sources
			.ofTrackingPlan(metadata.namespace!, metadata.name)
			.flatMap((source) =>
				informers.pipelines.ofSource(metadata.namespace!, source.metadata.name),
			)
			.filter(dependsOnPlan)
			.map(keyOf);
	loop.watch(informers.trackingPlans, typedBy, specChanged);
	loop.watch(informers.configMaps, ({ metadata }) =>
		informers.trackingPlans
			.ofConfigMap(metadata.namespace!, metadata.name)
			.flatMap(typedBy),
	);
	loop.watch(informers.runs, ({ metadata, spec }) => [
		{ namespace: metadata.namespace!, name: spec.pipelineRef.name },
	]);
	return loop;
}

/** Returns the Run of another Pipeline that has the name, if there is one. */
async function createRun(
	client: KubeClient,
	pipeline: Pipeline,
	name: string,
): Promise<Run | undefined> {
	try {
		const run = scheduledRun(pipeline, name);
		await client.create<Run>(runKind, run, { fieldManager });
		return undefined;
	} catch (error) {
		if (!hasReason(error, "AlreadyExists")) throw error;
		const { namespace } = pipeline.metadata;
		const existing = await client.get<Run>(runKind, name, namespace);
		// Our own: the operator died after it created the Run and before it wrote the status. Others may have chosen the name.
		return existing?.spec.pipelineRef.name === pipeline.metadata.name &&
			existing.metadata.annotations?.[annotation.trigger] === "Schedule"
			? undefined
			: existing;
	}
}

function scheduledRun(pipeline: Pipeline, name: string): Run {
	return newRun(pipeline.metadata.name, {
		name,
		namespace: pipeline.metadata.namespace!,
		labels: {
			...managedByTidemill,
			[label.pipeline]: pipeline.metadata.name,
		},
		annotations: { [annotation.trigger]: "Schedule" },
		ownerReferences: [controllerReference(pipelineKind, pipeline)],
	});
}
