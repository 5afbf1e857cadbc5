import type { ControllerFactory } from "../context.ts";
import { ControllerLoop, specChanged } from "../kube/controller.ts";
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
	// Not by its own status: what waits for archive would ask again at once.
	loop.watch(informers.runs, undefined, specChanged);
	loop.watch(
		informers.runs,
		waiting,
		(run, before) => hasEnded(run) !== hasEnded(before),
	);
	loop.watch(informers.pipelines, waiting, specChanged);
	// A Source's counts change all the time.
	loop.watch(
		informers.sources,
		waiting,
		(source, before) =>
			specChanged(source, before) ||
			source.status?.sourceKey !== before.status?.sourceKey,
	);
	loop.watch(informers.destinations, waiting);
	loop.watch(informers.jobs, ofChild);
	loop.watch(informers.pods, ofChild);
	return loop;
};
