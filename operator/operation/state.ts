import {
	type Operation,
	operationKind,
	type Source,
} from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import { hasEnded } from "../../crds/run.ts";
import { ageOf, type ObjectKey } from "../../packages/kube/resource.ts";
import { readWithJob } from "../jobs/controller.ts";
import type { RequestOutcomes, WorkState } from "../jobs/kind.ts";
import type { OperatorContext, PodPolicy } from "../reconcile/context.ts";
import type { PlanOutline } from "../reconcile/held.ts";
import { storedIn } from "../reconcile/questions.ts";
import { type ErasedPipeline, erasedPipeline } from "./erase.ts";
import { keptDays, operationJobName, workOf } from "./work.ts";

/** All that a decision about one Operation rests on. */
export interface OperationState extends WorkState {
	operation: Operation;
	/** Undefined if there is none, or it is being deleted. */
	source: Source | undefined;
	/** See {@link workOf}. */
	work: ReturnType<typeof workOf>;
	/** The Operation of the Source that comes before this one. */
	before: Operation | undefined;
	/** What an Erase is about, beside the bucket. */
	pipelines: ErasedPipeline[];
	/** All ended Operations of the Source, this one among them if it has ended. */
	ended: Operation[];
	podPolicy: PodPolicy;
	image: string;
}

/** Undefined if there is no such Operation. */
export async function readOperation(
	context: OperatorContext,
	key: ObjectKey,
	outcomes: RequestOutcomes,
	now: number,
): Promise<OperationState | undefined> {
	const { informers, image, podPolicy } = context;
	const { namespace, name } = key;
	const found = await readWithJob<Operation>(context, informers.operations, {
		key,
		kind: operationKind,
		jobName: operationJobName(name),
		label: label.operation,
		isConfirmed: hasEnded,
	});
	if (!found) return undefined;
	const { job, pods } = found;
	// Memory has no schemas of the plan that it tries.
	const isOutline = (found.object as PlanOutline<Operation>).hasSchemas;
	const operation = isOutline
		? await context.client.get<Operation>(operationKind, name, namespace)
		: found.object;
	if (!operation) return undefined;
	const { spec } = operation;
	const source = informers.sources.get(namespace, spec.sourceRef.name);
	const planName = spec.plan?.name;
	const ofSource = informers.operations.ofSource(
		namespace,
		spec.sourceRef.name,
	);
	const stored = storedIn(outcomes.answered);
	// Of one that has ended memory has no more than that.
	const isOver = hasEnded(operation);
	return {
		...outcomes,
		operation,
		source: source?.metadata.deletionTimestamp ? undefined : source,
		work: isOver
			? undefined
			: workOf(
					operation,
					planName === undefined
						? undefined
						: informers.trackingPlans.get(namespace, planName),
					(name) => informers.configMaps.get(namespace, name),
					keptDays(source, now).start,
				),
		job,
		pods,
		...(stored && { stored }),
		before: operationBefore(operation, ofSource),
		pipelines:
			spec.type === "Erase" && !isOver
				? informers.pipelines
						.ofSource(namespace, spec.sourceRef.name)
						.map((pipeline) => erasedPipeline(context, pipeline, operation))
				: [],
		ended: ofSource.filter(hasEnded),
		podPolicy,
		image,
	};
}

/**
 * An Import looks for what the Source has already, so one begins when the one before it has ended. While an Erase goes through what
 * is stored, nothing may copy events. Which Operation comes first.
 */
export function operationBefore(
	operation: Operation,
	ofSource: readonly Operation[],
): Operation | undefined {
	const { type } = operation.spec;
	return ofSource.find(
		(other) =>
			changesEvents(other) &&
			ageOf(other) < ageOf(operation) &&
			(type === "Erase" ||
				(type === "Import" && other.spec.type !== "Release") ||
				(type === "Release" && other.spec.type === "Erase")),
	);
}

/** Whether it may yet change what is stored. */
export function changesEvents(operation: Operation): boolean {
	const { spec, status } = operation;
	return (
		["Erase", "Import", "Release"].includes(spec.type) &&
		!hasEnded(operation) &&
		!spec.erase?.dryRun &&
		status?.erase === undefined
	);
}
