import { type Run, runKind } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import { hasEnded } from "../../crds/run.ts";
import { type Job, kinds, type Pod } from "../../kube/kinds.ts";
import type { KubeObject, ObjectKey } from "../../kube/resource.ts";
import { referencesOf } from "../pipeline/references.ts";
import { resolveTarget, warehouseNameOf } from "../pipeline/target.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import type { RunState } from "./decide.ts";
import type { Rival, Writer } from "./turn.ts";

/** Reads all that a decision about one Run rests on; undefined when there is no such Run. */
export async function readRun(
	context: OperatorContext,
	{ namespace, name }: ObjectKey,
): Promise<RunState | undefined> {
	const { client, informers, settings } = context;
	let run = informers.runs.get(namespace, name);
	if (!run) return undefined;
	let job = informers.jobs.get(namespace, name);
	if (!job && !hasEnded(run)) {
		// Memory may be behind: with a Job that was recorded and removed the Run would be started once more. The Run is
		// read last, since the Job is removed after the Run is written.
		job = await client.get(kinds.job, name, namespace);
		run = await client.get<Run>(runKind, name, namespace);
		if (!run) return undefined;
	}
	const { uid } = run.metadata;
	if (job && (job.metadata.deletionTimestamp || !isOwnedBy(job, uid)))
		job = undefined;
	return {
		run,
		references: referencesOfRun(context, run),
		job,
		pods: job ? await podsOf(context, job) : [],
		rivals: rivalsOf(context, run),
		writers: writersIn(context, namespace, job),
		image: settings.image,
	};
}

async function podsOf(
	{ client, informers }: OperatorContext,
	job: Job,
): Promise<Pod[]> {
	const { name, namespace, uid } = job.metadata;
	// The Job may be known to be over before its Pods are, whose results are wanted then.
	const pods = isOver(job)
		? (
				await client.list(kinds.pod, {
					namespace,
					labelSelector: `${label.run}=${name}`,
				})
			).items
		: informers.pods.list(namespace);
	return pods.filter((pod) => isOwnedBy(pod, uid));
}

function referencesOfRun(context: OperatorContext, { metadata, spec }: Run) {
	const pipeline = context.informers.pipelines.get(
		metadata.namespace!,
		spec.pipelineRef.name,
	);
	return pipeline && !pipeline.metadata.deletionTimestamp
		? referencesOf(context, pipeline)
		: undefined;
}

function rivalsOf(context: OperatorContext, run: Run): Rival[] {
	const { namespace, uid } = run.metadata;
	const warehouse = warehouseOfRun(context, run);
	if (warehouse === undefined) return [];
	return context.informers.runs
		.open(namespace!)
		.filter(
			(other) =>
				other.metadata.uid !== uid &&
				warehouseOfRun(context, other) === warehouse,
		)
		.map((other) => ({
			run: other,
			warehouse: canRun(context, other) ? warehouse : undefined,
		}));
}

/**
 * What a Run writes to, or would if it can't run yet, as layouts name it; undefined when nobody can tell. Of a Run under
 * way it is what it began with, whatever its Pipeline says by now.
 */
export function warehouseOfRun(
	{ informers: { pipelines, destinations } }: OperatorContext,
	{ metadata: { namespace }, spec, status }: Run,
): string | undefined {
	if (status?.phase === "Running") return status.layout?.destination;
	const pipeline = pipelines.get(namespace!, spec.pipelineRef.name);
	const destination =
		pipeline && destinations.get(namespace!, pipeline.spec.destinationRef.name);
	return destination && warehouseNameOf(pipeline, destination);
}

function canRun(context: OperatorContext, run: Run): boolean {
	if (run.status?.phase === "Running") return true;
	const references = referencesOfRun(context, run);
	return references !== undefined && "target" in resolveTarget(references);
}

function writersIn(
	{ informers }: OperatorContext,
	namespace: string,
	own: Job | undefined,
): Writer[] {
	const jobs = informers.jobs
		.list(namespace)
		.filter((job) => job.metadata.uid !== own?.metadata.uid && !isOver(job));
	const pods = informers.pods
		.list(namespace)
		.filter((pod) => !isOwnedBy(pod, own?.metadata.uid) && !isGone(pod));
	return [...jobs, ...pods].flatMap(({ metadata: { labels = {} } }) => {
		const warehouseLabel = labels[label.warehouse];
		return warehouseLabel === undefined
			? []
			: [{ run: labels[label.run] ?? "", warehouseLabel }];
	});
}

/** A Job that makes no more Pods. */
export function isOver({ status }: Job): boolean {
	return Boolean(
		status?.conditions?.some(
			({ type, status }) =>
				(type === "Complete" || type === "Failed") && status === "True",
		),
	);
}

/** A Pod without processes. */
export function isGone({ status }: Pod): boolean {
	return status?.phase === "Succeeded" || status?.phase === "Failed";
}

function isOwnedBy({ metadata }: KubeObject, uid: string | undefined): boolean {
	return Boolean(
		uid && metadata.ownerReferences?.some((owner) => owner.uid === uid),
	);
}
