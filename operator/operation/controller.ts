import {
	type Operation,
	operationKind,
	type Pipeline,
	type Source,
} from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import { hasEnded } from "../../crds/run.ts";
import {
	type ControllerLoop,
	specChanged,
	specMatters,
} from "../../packages/kube/reconcile/controller.ts";
import { keyOf, type ObjectKey } from "../../packages/kube/resource.ts";
import { createJobLoop, type JobDeps } from "../jobs/controller.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { reportOf } from "../reconcile/while-permitted.ts";
import {
	decide,
	decideNotPermitted,
	type OperationAction,
	pendingLimit,
} from "./decide.ts";
import { startErasingRun } from "./erase.ts";
import { changesEvents, type OperationState, readOperation } from "./state.ts";
import { operationInputName, operationJobName } from "./work.ts";

/** Carries out Operations: asks archive what to read, starts the Job, and records its report. The loop doesn't run yet. */
export function createOperationController(
	context: OperatorContext & JobDeps,
): ControllerLoop {
	const { client, informers } = context;
	const loop = createJobLoop<Operation, OperationState, OperationAction>(
		context,
		{
			name: "operation",
			kind: operationKind,
			known: informers.operations,
			owner: "Operation",
			verb: "Operate",
			label: label.operation,
			workers: 2,
			questionsAtOnce: 4,
			read: (key, outcomes, now) => readOperation(context, key, outcomes, now),
			decide,
			objectIn: ({ operation }) => operation,
			hasJob: ({ job }) => job !== undefined,
			async apply(operation, action) {
				if (action.type === "createRun")
					await startErasingRun(
						client,
						action.pipeline,
						action.name,
						operation,
					);
				return operation;
			},
			notPermitted: {
				condition: "Complete",
				statusOf(operation, message, now) {
					const { namespace, name } = operation.metadata;
					const job = informers.jobs.get(namespace!, operationJobName(name));
					const wait = {
						work: operation,
						limit: pendingLimit,
						hasJob: job !== undefined,
					};
					return reportOf(decideNotPermitted(wait, message, now));
				},
			},
			removalOf: ({ operation, job }) => ({
				job,
				secretName: operationInputName(operation.metadata.name),
			}),
		},
	);
	// Not on every change of its status, or one that waits for archive would ask again at once.
	loop.watch(
		informers.operations,
		undefined,
		(operation, before) =>
			specChanged(operation, before) ||
			hasEnded(operation) !== hasEnded(before),
	);
	const openOf = (namespace: string, source: string): ObjectKey[] =>
		informers.operations
			.ofSource(namespace, source)
			.filter((operation) => !hasEnded(operation))
			.map(keyOf);
	// The next one that changes what the Source has stored may begin.
	loop.watchGroups<Operation>(informers.operations, {
		groupsOf: ({ metadata, spec }) => [
			`${metadata.namespace}/${spec.sourceRef.name}`,
		],
		membersOf: (group) => openOf(...(group.split("/") as [string, string])),
		matters: (operation, before, deleted) =>
			deleted
				? changesEvents(operation)
				: before !== undefined &&
					changesEvents(before) !== changesEvents(operation),
	});
	// A table is done.
	loop.watchGroups<Pipeline>(informers.pipelines, {
		groupsOf: ({ metadata, spec }) => [
			`${metadata.namespace}/${spec.sourceRef.name}`,
		],
		membersOf: (group) =>
			informers.operations
				.ofSource(...(group.split("/") as [string, string]))
				.filter(({ status }) => status?.erase && !status.completionTime)
				.map(keyOf),
		matters: (pipeline, before, deleted) =>
			deleted ||
			pipeline.status?.lastSuccess?.snapshotTime !==
				before?.status?.lastSuccess?.snapshotTime,
	});
	// An Operation waits for its Source and its plan.
	loop.watchGroups<Source>(informers.sources, {
		groupsOf: ({ metadata }) => [`${metadata.namespace}/${metadata.name}`],
		membersOf: (group) => openOf(...(group.split("/") as [string, string])),
		matters: (source, before, deleted) =>
			specMatters(source, before, deleted) ||
			source.status?.sourceKey !== before?.status?.sourceKey,
	});
	loop.watch(
		informers.trackingPlans,
		({ metadata }) =>
			informers.operations
				.ofPlan(metadata.namespace!, metadata.name)
				.filter((operation) => !hasEnded(operation))
				.map(keyOf),
		specChanged,
	);
	// Or for a ConfigMap that its plan names: few, and rarely changed.
	loop.watch(informers.configMaps, ({ metadata }) =>
		informers.operations
			.open(metadata.namespace!)
			.filter(({ status }) => status?.phase === "Pending")
			.map(keyOf),
	);
	return loop;
}
