import type { ControllerFactory } from "../context.ts";
import { ControllerLoop } from "../kube/controller.ts";
import { type KubeObject, keyOf, type ObjectKey } from "../kube/resource.ts";
import { label } from "../labels.ts";
import { hasEnded } from "../pipeline/run-history.ts";
import { applyRun } from "./apply.ts";
import { decide } from "./decide.ts";
import { readRun } from "./read.ts";

/** Carries out Runs: asks archive what to load, starts the Job, and records what it brought. */
export const createRunController: ControllerFactory = (context) => {
	const { informers, log } = context;
	const loop = new ControllerLoop(
		{
			name: "run",
			reconcile: async (key) => {
				const state = await readRun(context, key);
				return state && applyRun(context, state, decide(state, Date.now()));
			},
		},
		// A worker waits while archive flushes.
		{ log, workers: 8 },
	);
	// What a Run waits for: its references, and its turn.
	const waiting = ({ metadata }: KubeObject): ObjectKey[] =>
		informers.runs
			.list(metadata.namespace)
			.filter((run) => !hasEnded(run))
			.map(keyOf);
	const ofChild = (child: KubeObject): ObjectKey[] => {
		const { namespace = "", labels = {} } = child.metadata;
		const name = labels[label.run];
		return name ? [{ namespace, name }, ...waiting(child)] : [];
	};
	loop.watch(informers.runs, (run) => [keyOf(run), ...waiting(run)]);
	loop.watch(informers.pipelines, waiting);
	loop.watch(informers.sources, waiting);
	loop.watch(informers.destinations, waiting);
	loop.watch(informers.jobs, ofChild);
	loop.watch(informers.pods, ofChild);
	return loop;
};
