import {
	pipelineKind,
	type Run,
	runKind,
	type Source,
} from "../../crds/generated/types.ts";
import { fieldManager, label } from "../../crds/labels.ts";
import { hasEnded } from "../../crds/run.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { isGone, isOver } from "../../packages/kube/kinds.ts";
import {
	type ControllerLoop,
	specChanged,
	specMatters,
} from "../../packages/kube/reconcile/controller.ts";
import {
	controllerReference,
	type KubeObject,
	keyOf,
	type ObjectKey,
} from "../../packages/kube/resource.ts";
import { createJobLoop, type JobDeps } from "../jobs/controller.ts";
import type { PipelineReferences } from "../pipeline/state.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { reportOf } from "../reconcile/while-permitted.ts";
import {
	decide,
	decideNotPermitted,
	pendingLimitOf,
	type RunAction,
} from "./decide.ts";
import { inputSecretName, warehouseLabel } from "./job.ts";
import {
	nextRuns,
	type RunState,
	readRun,
	referencesOfRun,
	warehouseOfRun,
} from "./state.ts";

/** Carries out Runs: asks archive what to load, starts the Job, and records its result. The loop doesn't run yet. */
export function createRunController(
	context: OperatorContext &
		JobDeps & {
			/** The collector that Jobs send traces to; undefined for no traces of Jobs. */
			traceEndpoint?: string | undefined;
		},
): ControllerLoop {
	const { client, informers } = context;
	const loop = createJobLoop<Run, RunState, RunAction>(context, {
		name: "run",
		kind: runKind,
		known: informers.runs,
		owner: "Run",
		verb: "Run",
		label: label.run,
		// Many Runs begin at once on a full hour.
		workers: 8,
		// Archive makes each manifest by a few requests to the store.
		questionsAtOnce: 16,
		read: (key, outcomes, now) => readRun(context, key, outcomes, now),
		decide,
		objectIn: ({ run }) => run,
		hasJob: ({ job }) => job !== undefined,
		removalOf: ({ run, job }) => ({
			job,
			secretName: inputSecretName(run.metadata.name),
		}),
		notPermitted: {
			condition: "Complete",
			statusOf(run, message, now) {
				const { namespace, name } = run.metadata;
				const wait = {
					work: run,
					limit: pendingLimitOf(referencesOfRun(context, run)),
					hasJob: informers.jobs.get(namespace!, name) !== undefined,
				};
				return reportOf(decideNotPermitted(wait, message, now));
			},
		},
		// The only other action.
		apply: (run, _, { references }) => adopt(client, run, references!),
	});
	const open = (namespace: string): Run[] => informers.runs.open(namespace);
	// Not on a change of its status, or a Run that waits for archive would ask again at once.
	loop.watch(informers.runs, undefined, specChanged);
	// A Run waits for its references.
	const waiting = {
		groupsOf: ({ metadata }: KubeObject) => [metadata.namespace!],
		membersOf: (namespace: string) => open(namespace).map(keyOf),
	};
	loop.watchGroups(informers.pipelines, { ...waiting, matters: specMatters });
	loop.watchGroups<Source>(informers.sources, {
		...waiting,
		// Not on a Source's counts, which change all the time.
		matters: (source, before, deleted) =>
			specMatters(source, before, deleted) ||
			source.status?.sourceKey !== before?.status?.sourceKey,
	});
	loop.watchGroups(informers.destinations, waiting);
	loop.watchGroups(informers.secrets, {
		...waiting,
		matters: ({ metadata: { namespace, name } }) =>
			informers.destinations.ofSecret(namespace!, name).length > 0,
	});
	// And for its turn at a warehouse. A Run that can no longer be resolved may have held any warehouse.
	const labelOf = (run: Run): string => {
		const warehouse = warehouseOfRun(context, run);
		return warehouse === undefined ? "" : warehouseLabel(warehouse);
	};
	const membersOf = (group: string): ObjectKey[] => {
		const [namespace = "", meant] = group.split("/");
		return nextRuns(context, namespace, meant || undefined).map(keyOf);
	};
	// What is new holds a warehouse and frees none.
	loop.watchGroups(informers.runs, {
		groupsOf: (run) => [`${run.metadata.namespace}/${labelOf(run)}`],
		membersOf,
		matters: (run, before, deleted) =>
			deleted || (!!before && hasEnded(run) !== hasEnded(before)),
	});
	const ofWarehouse = ({ metadata: { namespace, labels } }: KubeObject) => {
		const meant = labels?.[label.warehouse];
		return meant === undefined ? [] : [`${namespace}/${meant}`];
	};
	loop.watchGroups(informers.jobs, {
		groupsOf: ofWarehouse,
		membersOf,
		matters: (job, before, deleted) =>
			deleted || (!!before && isOver(job) !== isOver(before)),
	});
	loop.watchGroups(informers.pods, {
		groupsOf: ofWarehouse,
		membersOf,
		matters: (pod, before, deleted) =>
			deleted || (!!before && isGone(pod) !== isGone(before)),
	});
	return loop;
}

async function adopt(
	client: KubeClient,
	{ metadata }: Run,
	{ pipeline }: PipelineReferences,
): Promise<Run> {
	const { name, namespace, resourceVersion, ownerReferences } = metadata;
	const owner = controllerReference(pipelineKind, pipeline);
	// An object has one controller. If the Run has another, such as a workflow, the Pipeline is a plain owner.
	const controlled = ownerReferences?.some(({ controller }) => controller);
	return client.patch<Run>(
		runKind,
		name,
		namespace,
		{
			metadata: {
				ownerReferences: [
					...(ownerReferences ?? []),
					{ ...owner, controller: !controlled },
				],
				resourceVersion,
			},
		},
		"merge",
		{ fieldManager },
	);
}
