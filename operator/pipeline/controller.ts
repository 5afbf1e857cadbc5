import {
	type Destination,
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
	type Source,
} from "../../crds/generated/types.ts";
import {
	annotation,
	fieldManager,
	label,
	managedByTidemill,
} from "../../crds/labels.ts";
import { newRun } from "../../crds/run.ts";
import { hasReason, type KubeClient } from "../../kube/client/client.ts";
import {
	ControllerLoop,
	type Result,
	specChanged,
} from "../../kube/reconcile/controller.ts";
import {
	controllerReference,
	keyOf,
	type ObjectKey,
} from "../../kube/resource.ts";
import { applyActions } from "../reconcile/actions.ts";
import type {
	ControllerFactory,
	OperatorContext,
} from "../reconcile/context.ts";
import { decide, type PipelineAction } from "./decide.ts";
import { withoutRun } from "./events.ts";
import { referencesOf } from "./references.ts";
import type { References } from "./target.ts";

/** Resolves what a Pipeline refers to, makes its scheduled Runs, keeps its status, and prunes its ended Runs. */
export const createPipelineController: ControllerFactory = (context) => {
	const { informers, log } = context;
	const loop = new ControllerLoop(
		{
			name: "pipeline",
			reconcile: async ({ namespace, name }) => {
				const pipeline = informers.pipelines.get(namespace, name);
				if (!pipeline) return undefined;
				const references = referencesOf(context, pipeline);
				if (isEarly(references)) return undefined;
				const state = { ...references, runs: await runsOf(context, pipeline) };
				return applyPipeline(context, pipeline, decide(state, Date.now()));
			},
		},
		// At a full hour many are due at once.
		{ log, workers: 16 },
	);
	loop.watch(informers.pipelines);
	// Whether a table is free depends on those that want one of the same name, and on which warehouses they mean.
	const rivals = (pipeline: Pipeline): ObjectKey[] =>
		informers.pipelines.withTableOf(pipeline).map(keyOf);
	loop.watch(informers.pipelines, rivals, specChanged);
	loop.watch(informers.destinations, ({ metadata }) => {
		const { namespace, name } = metadata;
		const users = informers.pipelines.ofDestination(namespace!, name);
		return [...users.map(keyOf), ...users.flatMap(rivals)];
	});
	loop.watch(informers.sources, ({ metadata }) =>
		informers.pipelines.ofSource(metadata.namespace!, metadata.name).map(keyOf),
	);
	loop.watch(informers.runs, ({ metadata, spec }) => [
		{ namespace: metadata.namespace!, name: spec.pipelineRef.name },
	]);
	return loop;
};

/**
 * What a new Pipeline refers to came together with it and is being looked at in this moment; that will wake the Pipeline.
 * All there is to tell people is that it waits.
 */
function isEarly({ pipeline, source, destination }: References): boolean {
	const isNew = (object: Pipeline | Source | Destination | undefined) =>
		object !== undefined && object.status === undefined;
	return isNew(pipeline) && (isNew(source) || isNew(destination));
}

async function runsOf(
	{ client, informers }: OperatorContext,
	{ metadata: { name, namespace }, status }: Pipeline,
): Promise<Run[]> {
	const runs = informers.runs.ofPipeline(namespace!, name);
	const active = status?.activeRun;
	// Memory may not have the Run that was just made; to take it for deleted would be wrong.
	if (active && !runs.some(({ metadata }) => metadata.name === active)) {
		const run = await client.get<Run>(runKind, active, namespace);
		if (run?.spec.pipelineRef.name === name) runs.push(run);
	}
	return runs.filter(({ metadata }) => !metadata.deletionTimestamp);
}

function applyPipeline(
	context: OperatorContext,
	pipeline: Pipeline,
	actions: PipelineAction[],
): Promise<Result | undefined> {
	const { client } = context;
	return applyActions<Pipeline, PipelineAction>(
		context,
		{ kind: pipelineKind, verb: "Reconcile" },
		pipeline,
		actions,
		async (action) => {
			if (action.type === "deleteRun") {
				const { name, namespace, uid } = action.run.metadata;
				await client.delete(runKind, name, namespace, { uid });
				return undefined;
			}
			const namesake = await createRun(client, pipeline, action.name);
			return namesake && { instead: withoutRun(actions, namesake) };
		},
	);
}

/** Returns the Run of another Pipeline that has the name, if one has. */
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
		const there = await client.get<Run>(runKind, name, namespace);
		// Ours: it was made before, and we died before the status said so.
		return there?.spec.pipelineRef.name === pipeline.metadata.name
			? undefined
			: there;
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
