import { type Run, runKind } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import { hasEnded } from "../../crds/run.ts";
import type { Erasure } from "../../packages/contracts/archive.ts";
import type { Job } from "../../packages/kube/kinds.ts";
import {
	ageOf,
	isControlledBy,
	type KubeObject,
	type ObjectKey,
} from "../../packages/kube/resource.ts";
import { readWithJob } from "../jobs/controller.ts";
import type { RequestOutcomes, WorkState } from "../jobs/kind.ts";
import { type LostPod, lostPodOf } from "../jobs/lost-pods.ts";
import { countedBy } from "../operation/erase.ts";
import { type PipelineReferences, referencesOf } from "../pipeline/state.ts";
import { TableOwners } from "../pipeline/table-owners.ts";
import { resolveTarget } from "../pipeline/target.ts";
import { comparedWarehouse, warehouseNameOf } from "../pipeline/warehouse.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { storedIn } from "../reconcile/questions.ts";
import { heldUnder, keysIn, keysSecretName } from "../source/routes/keys.ts";
import { warehouseLabel } from "./job.ts";

/** All that a decision about one Run rests on. */
export interface RunState extends WorkState {
	run: Run;
	/** The Run's Pipeline and what that refers to; undefined if there is no such Pipeline. */
	references: PipelineReferences | undefined;
	/**
	 * The shard of the Source that the Run loads, or will; undefined if the Secret with its keys is missing or damaged.
	 */
	shard: number | undefined;
	/** What it counts, for the `dryRun` of an Erase; undefined if it loads, or nobody asks for that any more. */
	counts?: Erasure | undefined;
	/** One that goes first, if there is one: thousands of others may wait. */
	contenders: ContendingRun[];
	/** How many into the same warehouse come before this one. */
	ahead: number;
	/** All of the namespace, except the Run's own Job. */
	writers: WarehouseWriter[];
	image: string;
	/** The collector that Jobs send traces to; undefined for no traces of Jobs. */
	traceEndpoint?: string | undefined;
}

/** Another Run of the namespace that hasn't ended. */
export interface ContendingRun {
	run: Run;
	/** As {@link warehouseOfRun} has it; undefined while it can't run. */
	warehouse: string | undefined;
}

/** A process that writes to a warehouse, or will: a Job that isn't over, or a Pod that still has processes. */
export interface WarehouseWriter {
	/** Name of its Run, which may be deleted by now. */
	run: string;
	/** As {@link file://./job.ts warehouseLabel} has it. */
	warehouseLabel: string;
	/** Of a Pod that should have ended, and of which nobody knows whether it has. */
	lost?: LostPod | undefined;
}

/** Undefined if there is no such Run. */
export async function readRun(
	context: OperatorContext & { traceEndpoint?: string | undefined },
	key: ObjectKey,
	outcomes: RequestOutcomes,
	now: number,
): Promise<RunState | undefined> {
	const { informers, image, traceEndpoint } = context;
	const { namespace, name } = key;
	const known = informers.runs.get(namespace, name);
	if (!known) return undefined;
	const waits = hasEnded(known)
		? { contenders: [], ahead: 0 }
		: contendersOf(context, known);
	const found = await readWithJob<Run>(context, informers.runs, {
		key,
		kind: runKind,
		jobName: name,
		label: label.run,
		// Others go first, so whatever memory lacks nothing is started.
		isConfirmed: (run) => hasEnded(run) || waits.contenders.length > 0,
	});
	if (!found) return undefined;
	const { object: run, job, pods } = found;
	const references = referencesOfRun(context, run);
	const stored = storedIn(outcomes.answered);
	return {
		...outcomes,
		run,
		references,
		counts: references && countedBy(context, run, references.pipeline),
		shard: shardOf(
			context,
			namespace,
			job
				? ofSourceKey(context, namespace, run.status?.layout?.sourceKey)
				: references?.pipeline.spec.sourceRef.name,
		),
		job,
		pods,
		...(stored && { stored }),
		...waits,
		contenders:
			waits.contenders.length > 0
				? waits.contenders
				: runningContenders(context, run),
		writers: writersIn(context, namespace, job, now),
		image,
		traceEndpoint,
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
	owners?: TableOwners,
): PipelineReferences | undefined {
	const pipeline = context.informers.pipelines.get(
		metadata.namespace!,
		spec.pipelineRef.name,
	);
	return pipeline && !pipeline.metadata.deletionTimestamp
		? referencesOf(context, pipeline, owners)
		: undefined;
}

function contendersOf(
	context: OperatorContext,
	run: Run,
): Pick<RunState, "contenders" | "ahead"> {
	const { namespace, uid } = run.metadata;
	const warehouse = warehouseOfRun(context, run);
	if (warehouse === undefined) return { contenders: [], ahead: 0 };
	const owners = new TableOwners(context.informers);
	let first: Run | undefined;
	let ahead = 0;
	for (const other of context.informers.runs.open(namespace!)) {
		if (other.metadata.uid === uid || !goesFirst(other, run)) continue;
		if (warehouseOfRun(context, other) !== warehouse) continue;
		ahead++;
		if (!first && canRun(context, other, owners)) first = other;
	}
	return { contenders: first ? [{ run: first, warehouse }] : [], ahead };
}

/** Others that have begun meanwhile. */
function runningContenders(
	context: OperatorContext,
	run: Run,
): ContendingRun[] {
	const { namespace, uid } = run.metadata;
	const warehouse = warehouseOfRun(context, run);
	const running = context.informers.runs
		.open(namespace!)
		.find(
			(other) =>
				other.status?.phase === "Running" &&
				other.metadata.uid !== uid &&
				warehouseOfRun(context, other) === warehouse,
		);
	return running ? [{ run: running, warehouse }] : [];
}

/**
 * Of each warehouse of a namespace, the Run whose turn is next: only that one begins when another ends.
 * @param meant The label of one warehouse; undefined for all.
 */
export function nextRuns(
	context: OperatorContext,
	namespace: string,
	meant: string | undefined,
): Run[] {
	const owners = new TableOwners(context.informers);
	const labels = new Map<string, string>();
	const next = new Map<string, Run>();
	for (const run of context.informers.runs.open(namespace)) {
		const warehouse = warehouseOfRun(context, run);
		if (warehouse === undefined) continue;
		if (meant !== undefined) {
			const label = labels.get(warehouse) ?? warehouseLabel(warehouse);
			labels.set(warehouse, label);
			if (label !== meant) continue;
		}
		const before = next.get(warehouse);
		if (before && !goesFirst(run, before)) continue;
		if (canRun(context, run, owners)) next.set(warehouse, run);
	}
	return [...next.values()];
}

/**
 * What a Run writes to as {@link comparedWarehouse} has it, even if the Run can't start yet; undefined if it is unknown. A Run keeps what
 * it began with, whatever its Pipeline says later.
 */
export function warehouseOfRun(
	{ informers: { pipelines, destinations } }: OperatorContext,
	{ metadata: { namespace }, spec, status }: Run,
): string | undefined {
	const pipeline = pipelines.get(namespace!, spec.pipelineRef.name);
	const destination =
		pipeline && destinations.get(namespace!, pipeline.spec.destinationRef.name);
	const name =
		status?.phase === "Running"
			? status.layout?.destination
			: destination && warehouseNameOf(pipeline, destination);
	return name === undefined ? undefined : comparedWarehouse(name);
}

function canRun(
	context: OperatorContext,
	run: Run,
	owners: TableOwners,
): boolean {
	if (run.status?.phase === "Running") return true;
	const references = referencesOfRun(context, run, owners);
	return references !== undefined && "target" in resolveTarget(references);
}

function writersIn(
	{ informers }: OperatorContext,
	namespace: string,
	own: Job | undefined,
	now: number,
): WarehouseWriter[] {
	const jobs = informers.jobs
		.open(namespace)
		.filter((job) => job.metadata.uid !== own?.metadata.uid);
	const pods = informers.pods
		.open(namespace)
		.filter((pod) => !isControlledBy(pod, own?.metadata.uid));
	const writerOf = ({
		metadata: { labels = {} },
	}: KubeObject): WarehouseWriter[] => {
		const warehouseLabel = labels[label.warehouse];
		return warehouseLabel === undefined
			? []
			: [{ run: labels[label.run] ?? "", warehouseLabel }];
	};
	return [
		...jobs.flatMap(writerOf),
		...pods.flatMap((pod) => {
			const lost = lostPodOf([pod], now);
			return writerOf(pod).map((writer) => ({
				...writer,
				...(lost && { lost }),
			}));
		}),
	];
}

/**
 * Whether of two Runs into one warehouse the other goes first: the one that runs already, otherwise the older one. Two Runs
 * that look at the same moment agree.
 */
export function goesFirst(other: Run, run: Run): boolean {
	const isRunning = ({ status }: Run) => status?.phase === "Running";
	if (isRunning(other) !== isRunning(run)) return isRunning(other);
	return ageOf(other) < ageOf(run);
}
