import type { Destination, Pipeline } from "../../crds/generated/types.ts";
import {
	ControllerLoop,
	specChanged,
} from "../../kube/reconcile/controller.ts";
import { keyOf, type ObjectKey } from "../../kube/resource.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { applyPipeline } from "./apply.ts";
import { readPipeline } from "./state.ts";

/** Creates a Pipeline's scheduled Runs, keeps its status, and prunes its ended Runs. The loop doesn't run yet. */
export function createPipelineController(
	context: OperatorContext,
): ControllerLoop {
	const { informers, log } = context;
	const loop = new ControllerLoop(
		{
			name: "pipeline",
			reconcile: async (key) => {
				const state = await readPipeline(context, key);
				return state && applyPipeline(context, state, Date.now());
			},
		},
		// Many Pipelines are due at once on a full hour.
		{ log, workers: 16 },
	);
	loop.watch(informers.pipelines);
	// Pipelines into a table of the same name, in warehouses that may be the same.
	const rivals = (pipeline: Pipeline): ObjectKey[] =>
		informers.pipelines.withTableOf(pipeline).map(keyOf);
	loop.watch(informers.pipelines, rivals, specChanged);
	const ofDestination = ({ metadata }: Destination): ObjectKey[] => {
		const { namespace, name } = metadata;
		const users = informers.pipelines.ofDestination(namespace!, name);
		return [...users.map(keyOf), ...users.flatMap(rivals)];
	};
	loop.watch(informers.destinations, ofDestination);
	loop.watch(informers.secrets, ({ metadata }) =>
		informers.destinations
			.ofSecret(metadata.namespace!, metadata.name)
			.flatMap(ofDestination),
	);
	loop.watch(informers.sources, ({ metadata }) =>
		informers.pipelines.ofSource(metadata.namespace!, metadata.name).map(keyOf),
	);
	loop.watch(informers.runs, ({ metadata, spec }) => [
		{ namespace: metadata.namespace!, name: spec.pipelineRef.name },
	]);
	return loop;
}
