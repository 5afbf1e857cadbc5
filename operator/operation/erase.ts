import {
	type Operation,
	type OperationStatusErase,
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import { fieldManager, label, managedByTidemill } from "../../crds/labels.ts";
import { hasEnded, newRun, startedRunName } from "../../crds/run.ts";
import {
	type Erasure,
	type ErasureAnswer,
	erasurePlaces,
} from "../../packages/contracts/archive.ts";
import {
	hasReason,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import { controllerReference } from "../../packages/kube/resource.ts";
import { warehouses } from "../../packages/warehouses/registry.ts";
import type { OperatorContext } from "../reconcile/context.ts";

/** A Pipeline whose table may have rows of erased events. */
export interface ErasedPipeline {
	pipeline: Pipeline;
	/** Of its Destination; undefined if there is none. */
	warehouse: string | undefined;
	/** The latest Run that the Operation has started for it. */
	run: Run | undefined;
	/** How many it has started. */
	runs: number;
	/** The Pipeline's latest Run that succeeded, whoever started it; undefined if it has gone. */
	succeeded?: Run | undefined;
}

/** A Run is started after each that fails, so often. Then any Run of the Pipeline does. */
const maxRuns = 10;
const maxTables = 100;
/** A table waits so long after a Run that failed. */
const nextRunMs = 10 * 60_000;

/** Its length leaves room for the longest name of a Pipeline. */
function runName(pipeline: string, operation: Operation, number: number) {
	const { uid = "" } = operation.metadata;
	return startedRunName(pipeline, `e${uid.slice(0, 8)}${number}`);
}

export function erasedPipeline(
	{ informers }: Pick<OperatorContext, "informers">,
	pipeline: Pipeline,
	operation: Operation,
): ErasedPipeline {
	const { namespace, name } = pipeline.metadata;
	let run: Run | undefined;
	let runs = 0;
	for (; runs < maxRuns; runs++) {
		const next = informers.runs.get(namespace!, runName(name, operation, runs));
		if (!next) break;
		run = next;
	}
	const destination = informers.destinations.get(
		namespace!,
		pipeline.spec.destinationRef.name,
	);
	const { runUID } = pipeline.status?.lastSuccess ?? {};
	return {
		pipeline,
		warehouse: destination?.spec.type,
		run,
		runs,
		succeeded: informers.runs
			.ofPipeline(namespace!, name)
			.find(({ metadata }) => metadata.uid === runUID),
	};
}

/** What archive has to do. */
export function erasureOf({ spec }: Operation): Erasure {
	const { mode, match } = spec.erase!;
	const { eventIDs } = spec.filter ?? {};
	return { mode, ...(match && { match }), ...(eventIDs && { eventIDs }) };
}

/** What the bucket's part has come to, for the status. */
export function placesOf({
	places,
	time,
}: Extract<ErasureAnswer, { ok: true }>): Pick<
	OperationStatusErase,
	"places" | "time"
> {
	return {
		time,
		places: erasurePlaces.map((place) => ({ place, count: places[place] })),
	};
}

type TableOfErase = OperationStatusErase["tables"][number];

/** What stands in the status about the tables, and which Runs are to be started. */
export function tablesOf(
	pipelines: readonly ErasedPipeline[],
	operation: Operation,
	time: string,
	now: number,
): { tables: TableOfErase[]; starts: { pipeline: Pipeline; name: string }[] } {
	const starts: { pipeline: Pipeline; name: string }[] = [];
	const tables = pipelines.map(
		({ pipeline, run, runs, succeeded }): TableOfErase => {
			const { name } = pipeline.metadata;
			const { lastSuccess } = pipeline.status ?? {};
			const isDone =
				lastSuccess !== undefined &&
				Date.parse(lastSuccess.snapshotTime) > Date.parse(time);
			const table = {
				pipeline: name,
				phase: isDone ? "Done" : "Pending",
				...(run && { run: run.metadata.name }),
			};
			if (isDone) {
				// It says which rows are left, and which went that were to be blank. Each Run says it until the Operation has ended.
				const message = succeeded && messageOf(succeeded)?.slice(0, 500);
				return { ...table, ...(message?.includes("erased") && { message }) };
			}
			const endedMs = run && Date.parse(run.status?.completionTime ?? "");
			const isDue =
				endedMs === undefined ||
				(run?.status?.phase !== "Succeeded" && now - endedMs > nextRunMs);
			if (isDue && runs < maxRuns)
				starts.push({ pipeline, name: runName(name, operation, runs) });
			const message =
				runs >= maxRuns && run && hasEnded(run)
					? `${maxRuns} Runs have failed. Start a Run of the Pipeline once it can succeed.`
					: run && messageOf(run);
			return { ...table, ...(message && { message: message.slice(0, 500) }) };
		},
	);
	const pendingFirst = tables.toSorted((a, b) =>
		a.phase < b.phase ? 1 : a.phase > b.phase ? -1 : 0,
	);
	return { tables: pendingFirst.slice(0, maxTables), starts };
}

function messageOf({ status }: Run): string | undefined {
	return status?.conditions?.find(({ type }) => type === "Complete")?.message;
}

/** What no Operation reaches. */
export function unreachedBy(pipelines: readonly ErasedPipeline[]): string[] {
	const types = new Set(pipelines.map(({ warehouse }) => warehouse));
	return [
		"earlier versions of the bucket's objects, if it keeps versions, and its replicas and backups",
		"backups of NATS",
		"files of Exports and results of queries that people have, and what they made of a table",
		"tables of Pipelines that are deleted, or load another Source by now, and tables without the mark of the Pipeline's Runs in their comment or labels",
		"tables in a Destination, or a file, dataset, schema or database of one, that a Pipeline no longer loads into",
		"rows of earlier dates that have neither a body nor the event's ID, since their table got these columns later",
		"names of columns and tables that follow the events, messages and logs of Runs, and reports of other Operations until they go",
		...[...types].flatMap(
			(type) => (type !== undefined && warehouses.get(type)?.deletedRows) || [],
		),
	];
}

/** Starts a Run of its own, once, whatever crashes: its name is the lock. */
export async function startErasingRun(
	client: KubeClient,
	pipeline: Pipeline,
	name: string,
): Promise<void> {
	const run = newRun(pipeline.metadata.name, {
		name,
		namespace: pipeline.metadata.namespace!,
		labels: { ...managedByTidemill, [label.pipeline]: pipeline.metadata.name },
		ownerReferences: [controllerReference(pipelineKind, pipeline)],
	});
	try {
		await client.create<Run>(runKind, run, { fieldManager });
	} catch (error) {
		if (!hasReason(error, "AlreadyExists")) throw error;
	}
}
