import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import type { ControllerFactory, OperatorContext } from "../context.ts";
import { hasReason } from "../kube/client.ts";
import {
	ControllerLoop,
	type Result,
	specChanged,
} from "../kube/controller.ts";
import {
	controllerReference,
	type KubeObject,
	keyOf,
} from "../kube/resource.ts";
import { writeStatus } from "../kube/status-writer.ts";
import {
	annotation,
	fieldManager,
	label,
	managedByTidemill,
} from "../labels.ts";
import { decide, type PipelineAction } from "./decide.ts";
import { referencesOf } from "./references.ts";

/** Resolves what a Pipeline refers to, makes its scheduled Runs, keeps its status, and prunes its ended Runs. */
export const createPipelineController: ControllerFactory = (context) => {
	const { informers, log } = context;
	const loop = new ControllerLoop(
		{
			name: "pipeline",
			reconcile: async ({ namespace, name }) => {
				const pipeline = informers.pipelines.get(namespace, name);
				if (!pipeline) return undefined;
				const runs = informers.runs
					.list(namespace)
					.filter(
						({ metadata, spec }) =>
							spec.pipelineRef.name === name && !metadata.deletionTimestamp,
					);
				const state = { ...referencesOf(context, pipeline), runs };
				return apply(context, pipeline, decide(state, Date.now()));
			},
		},
		{ log, workers: 4 },
	);
	loop.watch(informers.pipelines);
	// Whether a table is free, and what a Destination says, can concern every Pipeline of the namespace.
	const ofNamespace = ({ metadata }: KubeObject) =>
		informers.pipelines.list(metadata.namespace).map(keyOf);
	loop.watch(informers.pipelines, ofNamespace, specChanged);
	loop.watch(informers.destinations, ofNamespace);
	loop.watch(informers.sources, ({ metadata }) =>
		informers.pipelines
			.list(metadata.namespace)
			.filter(({ spec }) => spec.sourceRef.name === metadata.name)
			.map(keyOf),
	);
	loop.watch(informers.runs, ({ metadata, spec }) => [
		{ namespace: metadata.namespace!, name: spec.pipelineRef.name },
	]);
	return loop;
};

async function apply(
	{ client, events }: OperatorContext,
	pipeline: Pipeline,
	actions: PipelineAction[],
): Promise<Result | undefined> {
	let result: Result | undefined;
	for (const action of actions)
		switch (action.type) {
			case "createRun":
				await client
					.create<Run>(runKind, scheduledRun(pipeline, action.name), {
						fieldManager,
					})
					.catch((error) => {
						// It was made before, and we died before the status said so.
						if (!hasReason(error, "AlreadyExists")) throw error;
					});
				break;
			case "writeStatus":
				await writeStatus<Pipeline>(
					client,
					pipelineKind,
					pipeline,
					action.status,
					fieldManager,
				);
				break;
			case "deleteRun": {
				const { name, namespace, uid } = action.run.metadata;
				await client.delete(runKind, name, namespace, { uid });
				break;
			}
			case "recordEvent":
				events.record(pipelineKind, pipeline, {
					type: action.severity,
					reason: action.reason,
					action: "Reconcile",
					note: action.message,
				});
				break;
			case "lookAgain":
				result = { requeueAfterMs: action.afterMs };
		}
	return result;
}

function scheduledRun(pipeline: Pipeline, name: string): Run {
	return {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Run",
		metadata: {
			name,
			namespace: pipeline.metadata.namespace!,
			labels: {
				...managedByTidemill,
				[label.pipeline]: pipeline.metadata.name,
			},
			annotations: { [annotation.trigger]: "Schedule" },
			ownerReferences: [controllerReference(pipelineKind, pipeline)],
		},
		spec: { pipelineRef: { name: pipeline.metadata.name } },
	};
}
