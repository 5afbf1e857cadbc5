import {
	type Destination,
	type Pipeline,
	type PipelineEventTypeTables,
	type PipelineInferredColumns,
	type Run,
	runKind,
	type Source,
} from "../../crds/generated/types.ts";
import { hasCounted } from "../../crds/run.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import type { KubeObject } from "../../packages/kube/resource.ts";
import type { HandOver } from "../notification/outbox.ts";
import type { NotificationState } from "../notification/state.ts";
import {
	type NotificationDeps,
	readNotifications,
} from "../notification/state.ts";
import { counterOf } from "../operation/erase.ts";
import type {
	JobSurroundings,
	OperatorContext,
	PodPolicy,
} from "../reconcile/context.ts";
import { secretNamesOf } from "../reconcile/informers.ts";
import {
	type PlannedEvents,
	plannedEvents,
} from "../tracking-plan/document.ts";
import { eventTypeTables } from "./event-type-tables.ts";
import { inferredColumns } from "./inferred-columns.ts";
import { type TableOwner, TableOwners } from "./table-owners.ts";

/** All that a decision about one Pipeline rests on. */
export interface PipelineState extends PipelineReferences {
	/** The Pipeline's Runs, except those that are being deleted. */
	runs: Run[];
	notifications: NotificationState;
	/** With the types that Runs have found since the status was written; undefined if there are none. */
	eventTypeTables?: PipelineEventTypeTables | undefined;
	/** The same of the members that have got columns. */
	inferredColumns?: PipelineInferredColumns | undefined;
	/** Why Kubernetes would not take a Run's Job. */
	jobRefusal?: string | undefined;
	/** A Run of another Pipeline that has the name of a scheduled Run, if one was found. */
	namesake?: Run;
}

/** What requests of the last reconcile came to. */
export interface PipelineOutcome extends Pick<PipelineState, "namesake"> {
	handedOver?: HandOver;
}

/** A Pipeline and what it refers to. An object that is being deleted does not count. */
export interface PipelineReferences extends JobSurroundings {
	pipeline: Pipeline;
	source: Source | undefined;
	destination: Destination | undefined;
	/** The Secrets that the Destination names, as far as they exist and have the label. */
	credentials: readonly Secret[];
	/** The Source's, if the type of a column or the filter depends on it. */
	trackingPlan: PlannedEvents | undefined;
	/** The oldest Pipeline into the same table: it has the table. Undefined without a Destination. */
	owner: TableOwner | undefined;
	podPolicy: PodPolicy;
}

export async function readPipeline(
	context: OperatorContext & NotificationDeps,
	pipeline: Pipeline,
	trials: {
		refusalOf(references: PipelineReferences): Promise<string | undefined>;
	},
	{ handedOver, namesake }: PipelineOutcome = {},
): Promise<PipelineState> {
	const references = referencesOf(context, pipeline);
	const runs = await runsOf(context, pipeline);
	const owners = new TableOwners(context.informers);
	const isTaken = (table: string) => owners.isTaken(pipeline, table);
	return {
		...references,
		eventTypeTables: eventTypeTables(pipeline, runs, isTaken),
		inferredColumns: inferredColumns(pipeline, runs),
		jobRefusal: await trials.refusalOf(references),
		runs,
		notifications: await readNotifications(context, pipeline, handedOver),
		...(namesake && { namesake }),
	};
}

/** @param owners If they have been read for this reconcile already. */
export function referencesOf(
	{
		informers,
		localWarehouse,
		clusterDomain,
		clusterNetworks,
		podPolicy,
	}: JobSurroundings & Pick<OperatorContext, "informers" | "podPolicy">,
	pipeline: Pipeline,
	owners = new TableOwners(informers),
): PipelineReferences {
	const namespace = pipeline.metadata.namespace!;
	const destination = present(
		informers.destinations.get(namespace, pipeline.spec.destinationRef.name),
	);
	const source = present(
		informers.sources.get(namespace, pipeline.spec.sourceRef.name),
	);
	const plan = source?.spec.webhook?.trackingPlanRef?.name;
	return {
		pipeline,
		source,
		destination,
		credentials: (destination ? secretNamesOf(destination) : []).flatMap(
			(name) => informers.secrets.get(namespace, name) ?? [],
		),
		trackingPlan:
			plan !== undefined && dependsOnPlan(pipeline)
				? plannedEvents(informers, { namespace, name: plan })
				: undefined,
		owner: owners.of(pipeline),
		localWarehouse,
		clusterDomain,
		clusterNetworks,
		podPolicy,
	};
}

/** Whether the Pipeline's table depends on what a TrackingPlan says. */
export function dependsOnPlan({ spec: { table, filter } }: Pipeline): boolean {
	const isUntyped = table.bodyColumns?.some(({ type }) => type === undefined);
	return (
		isUntyped === true ||
		table.perEventType === true ||
		filter?.types !== undefined
	);
}

function present<T extends KubeObject>(object: T | undefined): T | undefined {
	return object?.metadata.deletionTimestamp ? undefined : object;
}

/** Without those that count rows for an Operation: they say nothing of the table. */
export async function runsOf(
	{ client, informers }: Pick<OperatorContext, "client" | "informers">,
	{ metadata: { name, namespace }, status }: Pipeline,
): Promise<Run[]> {
	const runs = informers.runs
		.ofPipeline(namespace!, name)
		// Also one whose Operation was deleted without it, which leaves it no owner.
		.filter((run) => !counterOf(run) && !hasCounted(run));
	const active = status?.activeRun;
	// Memory may lack a Run that was just created, which must not count as deleted.
	if (active && !runs.some(({ metadata }) => metadata.name === active)) {
		const run = await client.get<Run>(runKind, active, namespace);
		if (run?.spec.pipelineRef.name === name) runs.push(run);
	}
	return runs.filter(({ metadata }) => !metadata.deletionTimestamp);
}
