import type { ResultAnswer } from "../../contracts/manifest.ts";
import {
	type Operation,
	operationKind,
	type Source,
} from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import { hasEnded } from "../../crds/operation.ts";
import { type Job, kinds, type Pod } from "../../kube/kinds.ts";
import { isControlledBy, type ObjectKey } from "../../kube/resource.ts";
import type { PodPolicy } from "../job/pod-template.ts";
import { podsOfJob } from "../job/pods.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { operationJobName } from "./job.ts";
import { keptDays } from "./work/days.ts";
import { importBefore } from "./work/import-before.ts";
import { workOf } from "./work/work.ts";

/** All that a decision about one Operation rests on. */
export interface OperationState {
	operation: Operation;
	/** Undefined if there is none, or it is being deleted. */
	source: Source | undefined;
	/** See {@link workOf}. */
	work: ReturnType<typeof workOf>;
	/** The Operation's own Job, unless it is being deleted. */
	job: Job | undefined;
	/** That Job's Pods. */
	pods: Pod[];
	/** What archive said about the Job's result, once it was asked. */
	stored?: ResultAnswer;
	/** The Import of the Source that comes before this one. */
	before: string | undefined;
	/** All ended Operations of the Source, this one among them if it has ended. */
	ended: Operation[];
	podPolicy: PodPolicy;
	image: string;
	/** How far archive is with the question that it was asked. */
	progress: string | undefined;
}

/** Undefined if there is no such Operation. */
export async function readOperation(
	context: OperatorContext,
	{ namespace, name }: ObjectKey,
	progress: string | undefined,
): Promise<OperationState | undefined> {
	const { client, informers, image, podPolicy } = context;
	let operation = informers.operations.get(namespace, name);
	if (!operation) return undefined;
	let job = informers.jobs.get(namespace, operationJobName(name));
	if (!job && !hasEnded(operation)) {
		// Memory may lag behind: an Operation whose Job was recorded and removed must not start again. A Job is removed after
		// its Operation is written, so the Operation is read after the Job.
		job = await client.get(kinds.job, operationJobName(name), namespace);
		operation = await client.get<Operation>(operationKind, name, namespace);
		if (!operation) return undefined;
	}
	const { metadata, spec } = operation;
	if (
		job &&
		(job.metadata.deletionTimestamp || !isControlledBy(job, metadata.uid))
	)
		job = undefined;
	const source = informers.sources.get(namespace, spec.sourceRef.name);
	const planName = spec.plan?.name;
	const ofSource = informers.operations.ofSource(
		namespace,
		spec.sourceRef.name,
	);
	return {
		operation,
		source: source?.metadata.deletionTimestamp ? undefined : source,
		work: workOf(
			operation,
			planName === undefined
				? undefined
				: informers.trackingPlans.get(namespace, planName),
			(name) => informers.configMaps.get(namespace, name),
			keptDays(source, Date.now()).start,
		),
		job,
		pods: job
			? await podsOfJob(
					client,
					informers.pods,
					job,
					`${label.operation}=${name}`,
				)
			: [],
		before: importBefore(operation, ofSource),
		ended: ofSource.filter(hasEnded),
		podPolicy,
		image,
		progress,
	};
}
