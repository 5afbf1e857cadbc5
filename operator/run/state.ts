import type { ResultAnswer } from "../../contracts/manifest.ts";
import { type Run, runKind } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import { hasEnded } from "../../crds/run.ts";
import { type Job, kinds, type Pod } from "../../kube/kinds.ts";
import { isControlledBy, type ObjectKey } from "../../kube/resource.ts";
import { podsOfJob } from "../job/pods.ts";
import { type References, referencesOf } from "../pipeline/state.ts";
import { TableHolders } from "../pipeline/table-holders.ts";
import { resolveTarget } from "../pipeline/target.ts";
import { warehouseNameOf } from "../pipeline/warehouse-name.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { heldUnder, keysIn, keysSecretName } from "../source/webhook/keys.ts";
import { goesFirst } from "./turn.ts";

/** All that a decision about one Run rests on. */
export interface RunState {
	run: Run;
	/** The Run's Pipeline and what that refers to; undefined if there is no such Pipeline. */
	references: References | undefined;
	/**
	 * The shard of the Source that the Run loads, or will; undefined if the Secret with its keys is missing or damaged.
	 */
	shard: number | undefined;
	/** The Run's own Job, unless it is being deleted. */
	job: Job | undefined;
	/** That Job's Pods. */
	pods: Pod[];
	/** What archive said about the Job's result, once it was asked. */
	stored?: ResultAnswer;
	/** One that goes first, if there is one: thousands of others may wait. */
	rivals: Rival[];
	/** All of the namespace, except the Run's own Job. */
	writers: Writer[];
	image: string;
	/** How far archive is with the question that it was asked. */
	progress: string | undefined;
}

/** Another Run of the namespace that hasn't ended. */
export interface Rival {
	run: Run;
	/** What it writes to, as a layout names it; undefined while it can't run. */
	warehouse: string | undefined;
}

/** A process that writes to a warehouse, or will: a Job that isn't over, or a Pod that still has processes. */
export interface Writer {
	/** Name of its Run, which may be deleted by now. */
	run: string;
	/** As {@link file://./job.ts warehouseLabel} has it. */
	warehouseLabel: string;
}

/** Undefined if there is no such Run. */
export async function readRun(
	context: OperatorContext,
	{ namespace, name }: ObjectKey,
	progress: string | undefined,
): Promise<RunState | undefined> {
	const { client, informers, image } = context;
	let run = informers.runs.get(namespace, name);
	if (!run) return undefined;
	let job = informers.jobs.get(namespace, name);
	if (!job && !hasEnded(run)) {
		// Memory may lag behind: a Run whose Job was recorded and removed must not start again. A Job is removed after its
		// Run is written, so the Run is read after the Job.
		job = await client.get(kinds.job, name, namespace);
		run = await client.get<Run>(runKind, name, namespace);
		if (!run) return undefined;
	}
	const { uid } = run.metadata;
	if (job && (job.metadata.deletionTimestamp || !isControlledBy(job, uid)))
		job = undefined;
	const references = referencesOfRun(context, run);
	return {
		run,
		references,
		shard: shardOf(
			context,
			namespace,
			job
				? ofSourceKey(context, namespace, run.status?.layout?.sourceKey)
				: references?.pipeline.spec.sourceRef.name,
		),
		job,
		pods: job
			? await podsOfJob(client, informers.pods, job, `${label.run}=${name}`)
			: [],
		rivals: rivalsOf(context, run),
		writers: writersIn(context, namespace, job),
		image,
		progress,
	};
}

/** The Source with which a Job began, whatever the Pipeline says later. */
function ofSourceKey(
	{ informers }: OperatorContext,
	namespace: string,
	sourceKey = "",
): string | undefined {
	return informers.sources.withKey(namespace, sourceKey)[0]?.metadata.name;
}

function shardOf(
	{ informers }: OperatorContext,
	namespace: string,
	source: string | undefined,
): number | undefined {
	if (source === undefined) return undefined;
	const secret = informers.secrets.get(namespace, keysSecretName(source));
	const keys = keysIn(secret, source);
	if (typeof keys !== "object") return undefined;
	const found = informers.sources.get(namespace, source);
	return found ? heldUnder(found, keys).shard : keys.shard;
}

/** Undefined if the Run's Pipeline doesn't exist or is being deleted. */
export function referencesOfRun(
	context: OperatorContext,
	{ metadata, spec }: Run,
	holders?: TableHolders,
): References | undefined {
	const pipeline = context.informers.pipelines.get(
		metadata.namespace!,
		spec.pipelineRef.name,
	);
	return pipeline && !pipeline.metadata.deletionTimestamp
		? referencesOf(context, pipeline, holders)
		: undefined;
}

function rivalsOf(context: OperatorContext, run: Run): Rival[] {
	const { namespace, uid } = run.metadata;
	const warehouse = warehouseOfRun(context, run);
	if (warehouse === undefined) return [];
	const holders = new TableHolders(context.informers);
	const first = context.informers.runs
		.open(namespace!)
		.find(
			(other) =>
				other.metadata.uid !== uid &&
				goesFirst(other, run) &&
				warehouseOfRun(context, other) === warehouse &&
				canRun(context, other, holders),
		);
	return first ? [{ run: first, warehouse }] : [];
}

/**
 * What a Run writes to as layouts name it, even if the Run can't start yet; undefined if it is unknown. A Run keeps what
 * it began with, whatever its Pipeline says later.
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

function canRun(
	context: OperatorContext,
	run: Run,
	holders: TableHolders,
): boolean {
	if (run.status?.phase === "Running") return true;
	const references = referencesOfRun(context, run, holders);
	return references !== undefined && "target" in resolveTarget(references);
}

function writersIn(
	{ informers }: OperatorContext,
	namespace: string,
	own: Job | undefined,
): Writer[] {
	const jobs = informers.jobs
		.open(namespace)
		.filter((job) => job.metadata.uid !== own?.metadata.uid);
	const pods = informers.pods
		.open(namespace)
		.filter((pod) => !isControlledBy(pod, own?.metadata.uid));
	return [...jobs, ...pods].flatMap(({ metadata: { labels = {} } }) => {
		const warehouseLabel = labels[label.warehouse];
		return warehouseLabel === undefined
			? []
			: [{ run: labels[label.run] ?? "", warehouseLabel }];
	});
}
