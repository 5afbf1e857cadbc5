import {
	type Operation,
	type OperationStatusErase,
	operationKind,
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import { fieldManager, label, managedByTidemill } from "../../crds/labels.ts";
import {
	hasCounted,
	hasEnded,
	newRun,
	startedRunName,
} from "../../crds/run.ts";
import {
	type BodyMatch,
	type Erasure,
	type ErasureAnswer,
	erasurePlaces,
} from "../../packages/contracts/archive.ts";
import {
	hasReason,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import {
	controllerReference,
	type OwnerReference,
} from "../../packages/kube/resource.ts";
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

/** The Operation, a `dryRun` of an Erase, for which a Run counts rows and loads none. */
export function counterOf({ metadata }: Run): OwnerReference | undefined {
	return metadata.ownerReferences?.find(
		({ controller, kind, apiVersion }) =>
			controller &&
			kind === operationKind.kind &&
			apiVersion.startsWith(`${operationKind.group}/`),
	);
}

/** What a Run counts; undefined if nobody asks for that any more. */
export function countedBy(
	{ informers }: Pick<OperatorContext, "informers">,
	run: Run,
	{ spec }: Pipeline,
): Erasure | undefined {
	const { name = "", uid } = counterOf(run) ?? {};
	const operation = informers.operations.get(run.metadata.namespace!, name);
	const isAsked =
		operation?.metadata.uid === uid &&
		operation?.spec.erase?.dryRun &&
		operation.spec.sourceRef.name === spec.sourceRef.name &&
		!hasEnded(operation);
	return isAsked ? erasureOf(operation) : undefined;
}

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
	return {
		mode,
		// Its rules let one of both through.
		...(match && { match: match as BodyMatch }),
		...(eventIDs && { eventIDs }),
	};
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
			const { dryRun } = operation.spec.erase!;
			const isDone = dryRun
				? run !== undefined &&
					hasCounted(run) &&
					run.status?.phase === "Succeeded"
				: lastSuccess !== undefined &&
					Date.parse(lastSuccess.snapshotTime) > Date.parse(time);
			const before = operation.status?.erase?.tables.find(
				({ pipeline }) => pipeline === name,
			);
			// Whichever Run was the first to load for the Operation. A later one finds none.
			const rows = Math.max(
				...[
					before?.rows,
					run?.status?.erasedRows,
					run?.status?.countedRows,
				].map((rows = 0) => rows),
				(isDone && succeeded?.status?.erasedRows) || 0,
			);
			const table = {
				pipeline: name,
				phase: isDone ? "Done" : "Pending",
				...(run && { run: run.metadata.name }),
				...(rows > 0 && { rows }),
			};
			if (isDone) {
				// It says which rows are left, and which went that were to be blank. Each Run says it until the Operation has ended.
				const said = dryRun ? run : succeeded;
				const message = said && messageOf(said)?.slice(0, 500);
				return { ...table, ...(message?.includes("erased") && { message }) };
			}
			const endedMs = run && Date.parse(run.status?.completionTime ?? "");
			const isDue =
				endedMs === undefined ||
				((dryRun || run?.status?.phase !== "Succeeded") &&
					now - endedMs > nextRunMs);
			if (isDue && runs < maxRuns)
				starts.push({ pipeline, name: runName(name, operation, runs) });
			const message =
				runs >= maxRuns && run && hasEnded(run)
					? `${maxRuns} Runs have failed. ${dryRun ? "Cancel this dry run, and create another once a Run of the Pipeline can succeed." : "Start a Run of the Pipeline once it can succeed."}`
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

/** How many rows are erased: in the bucket, and in tables beside what Runs load anew. */
export function erasedRows({
	places,
	tables,
}: Pick<OperationStatusErase, "places" | "tables">) {
	const sum = (counts: number[]) => counts.reduce((a, b) => a + b, 0);
	const inPlaces = (names: readonly string[]) =>
		sum(places.map(({ place, count }) => (names.includes(place) ? count : 0)));
	const inTables = sum(tables.map(({ rows = 0 }) => rows));
	return {
		inBucket: inPlaces(["Events", "Quarantine", "Releases"]),
		inTables,
		isNothing: inTables + inPlaces(placesOfEvents) === 0,
	};
}

/** Files of the others go whatever events are meant. */
const placesOfEvents = erasurePlaces.filter(
	(place) => !["Uploads", "ImportParts", "Refusals"].includes(place),
);

/** What no Operation reaches. */
export function unreachedBy(pipelines: readonly ErasedPipeline[]): string[] {
	const types = new Set(pipelines.map(({ warehouse }) => warehouse));
	return [
		"earlier versions of the bucket's objects, if it keeps versions, and its replicas and backups",
		"backups of NATS",
		"files of Exports and results of queries that people have, and what they made of a table",
		"tables of Pipelines that are deleted, or load another Source by now, and tables without the mark of the Pipeline's Runs in their comment or labels",
		"tables in a Destination, or a file, dataset, schema or database of one, that a Pipeline no longer loads into",
		"partitions and parts that somebody has detached from a table, which may come back: the table's message names those that are there",
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
	operation: Operation,
): Promise<void> {
	const owner = operation.spec.erase?.dryRun
		? controllerReference(operationKind, operation)
		: controllerReference(pipelineKind, pipeline);
	const run = newRun(pipeline.metadata.name, {
		name,
		namespace: pipeline.metadata.namespace!,
		labels: { ...managedByTidemill, [label.pipeline]: pipeline.metadata.name },
		ownerReferences: [owner],
	});
	try {
		await client.create<Run>(runKind, run, { fieldManager });
	} catch (error) {
		if (!hasReason(error, "AlreadyExists")) throw error;
	}
}
