import type {
	Destination,
	Layout,
	Pipeline,
	Source,
} from "../../crds/generated/types.ts";
import {
	otherTypesTableOf,
	quarantineTableOf,
	rejectedTableOf,
	tableNameOf,
	typeTablesOf,
} from "../../crds/table-name.ts";
import {
	type ColumnRoom,
	type EventFilter,
	type EventTypeTables,
	kindOfNoKey,
	type Strategy,
	type TableColumn,
} from "../../packages/contracts/job.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import type { WarehouseAccess } from "../../packages/warehouses/definition/definition.ts";
import { checkHash } from "../destination/check.ts";
import { accessTo } from "../destination/warehouse.ts";
import { type JobTemplate, podTemplateProblem } from "../jobs/template.ts";
import type { Reason } from "../reconcile/reasons.ts";
import { columnsOf, layoutNameOf, withViolations } from "./columns.ts";
import { mostTypeTables } from "./event-type-tables.ts";
import { choiceDigest, filterOf, placeForTables } from "./filter.ts";
import type { PipelineReferences } from "./state.ts";
import { tableOptionsProblem, warehouseNameOf } from "./warehouse.ts";

/** What a Pipeline loads from and into, with every reference resolved. */
export interface LoadTarget {
	strategy: Strategy;
	tableName: string;
	columns: TableColumn[];
	/** For more columns, if they follow the events. */
	room?: ColumnRoom;
	/** Which events the tables have; absent for all. */
	filter?: EventFilter;
	/** The tables in place of the one, if each type of event has its own. */
	eventTypes?: EventTypeTables;
	/** The table of events in quarantine, if there shall be one. */
	quarantine?: { tableName: string; columns: TableColumn[] };
	/** The table of values that don't fit their columns, if there shall be one. */
	rejected?: { tableName: string };
	access: WarehouseAccess;
	/** Changes if what is loaded, or where to, changes. */
	layout: Layout;
}

export interface TargetProblem {
	reason: Reason<"Pipeline">;
	message: string;
	/** `missing`: the reference may still arrive. `undecided`: the object that is referred to has no verdict yet. */
	because?: "missing" | "undecided";
}

/** The target of a Pipeline's Runs, or why there is none and what to do about it. */
export function resolveTarget(
	references: PipelineReferences,
): { target: LoadTarget } | { problem: TargetProblem } {
	const { pipeline, source, destination, credentials } = references;
	const { sourceRef, destinationRef, table } = pipeline.spec;
	if (!source)
		return problem(
			"SourceNotFound",
			`There is no Source "${sourceRef.name}" in this namespace. Create it, or change spec.sourceRef.name.`,
			"missing",
		);
	const sourceKey = source.status?.sourceKey;
	if (!sourceKey)
		return problem(
			"SourceNotReady",
			`Source "${sourceRef.name}" has no source key${readyWords(source)}`,
			because(source),
		);
	if (!destination)
		return problem(
			"DestinationNotFound",
			`There is no Destination "${destinationRef.name}" in this namespace. Create it, or change spec.destinationRef.name.`,
			"missing",
		);
	const access = accessTo(destination, references, credentials);
	if (!access || !isVerified(destination, credentials))
		return problem(
			"DestinationNotReady",
			`Destination "${destinationRef.name}" is not ready${readyWords(destination)}`,
			because(destination),
		);
	const tableName = tableNameOf(pipeline.metadata.name, table.name);
	const { owner } = references;
	if (owner && owner.pipeline.metadata.uid !== pipeline.metadata.uid)
		return problem(
			"TableConflict",
			`Table "${owner.table}" belongs to Pipeline "${owner.pipeline.metadata.name}". Set spec.table.name to another name; or delete that Pipeline, and set spec.table.adopt: true to take over its rows.`,
		);

	const { runTemplate } = pipeline.spec;
	const refusal = podTemplateProblem(
		runTemplate,
		references.podPolicy,
		"spec.runTemplate",
	);
	if (refusal) return { problem: refusal };

	const strategy = strategyOf(pipeline);
	const resolved = columnsOf(references);
	if ("problem" in resolved)
		return problem(
			resolved.reason,
			resolved.problem,
			resolved.isPlanMissing ? "missing" : undefined,
		);
	const { columns, room } = resolved;
	const chosen = filterOf(references);
	if ("problem" in chosen)
		return problem(
			"EventTypeUnknown",
			chosen.problem,
			chosen.isPlanMissing ? "missing" : undefined,
		);
	const { filter } = chosen;
	const found = table.perEventType ? placeForTables(references) : undefined;
	if (found && "problem" in found)
		return problem(
			"EventTypeUnknown",
			found.problem,
			found.isPlanMissing ? "missing" : undefined,
		);
	const most = mostTypeTables(pipeline);
	const tables = typeTablesOf(pipeline);
	const eventTypes: EventTypeTables | undefined = found && {
		place: found.place,
		tables,
		other: otherTypesTableOf(tableName),
		free: Math.max(0, most - tables.length),
	};
	const options =
		keyProblem(pipeline, columns) ??
		tableOptionsProblem(pipeline, destination, columns);
	if (options !== undefined) return problem("TableOptionsInvalid", options);
	return {
		target: {
			strategy,
			tableName,
			columns,
			...(room && room.columns > 0 && { room }),
			...(filter && { filter }),
			...(eventTypes && { eventTypes }),
			...(table.quarantine && {
				quarantine: {
					tableName: quarantineTableOf(tableName),
					columns: withViolations(columns),
				},
			}),
			...(table.rejectedValues && {
				rejected: { tableName: rejectedTableOf(tableName) },
			}),
			access,
			layout: {
				sourceKey,
				destination: warehouseNameOf(pipeline, destination),
				table: tableName,
				// Of a column that was found, the rows that the table has lack nothing.
				columns: columns.filter(({ isFound }) => !isFound).map(layoutNameOf),
				strategy,
				...(table.quarantine && { quarantine: true }),
				...(filter && { filter: choiceDigest(filter) }),
				...(found && {
					eventTypes: choiceDigest({ place: found.place, most }),
				}),
			},
		},
	};
}

/** Why the view of latest rows can't have its key, and what to do about it; undefined if it can. */
function keyProblem(
	{ spec: { table } }: Pipeline,
	columns: readonly TableColumn[],
): string | undefined {
	for (const name of table.latestBy ?? []) {
		const column = columns.find((column) => column.name === name);
		const field = `spec.table.latestBy has "${name}", `;
		if (!column)
			return `${field}which is no column of the table. Its columns are ${columns.map(({ name }) => name).join(", ")}.`;
		const kind = kindOfNoKey(column);
		if (kind !== undefined)
			return `${field}a column of ${kind}, which is no key. Name one of String, Integer, Decimal, Boolean, Timestamp or Date, or of a header.`;
	}
	return undefined;
}

/** What the Job of a Run that loads into the target is like. */
export function loadTemplate(
	{ spec }: Pipeline,
	{ access: { input: _, ...access } }: LoadTarget,
	image: string,
): JobTemplate & { activeDeadlineSeconds: number } {
	const { retries, activeDeadlineSeconds, ...pod } = spec.runTemplate;
	return {
		command: "load",
		image,
		...access,
		pod,
		retries,
		activeDeadlineSeconds,
	};
}

/** With a date column, a Run can replace its days alone. */
export function strategyOf({ spec }: Pipeline): Strategy {
	return spec.table.columns.includes("Date") ? "Incremental" : "FullReload";
}

/** Whether the check succeeded with this very spec and key: the key may change before its controller notices. */
function isVerified(
	{ metadata, spec, status }: Destination,
	credentials: readonly Secret[],
): boolean {
	return (
		findCondition(status?.conditions, "Ready")?.status === "True" &&
		status?.observedGeneration === metadata.generation &&
		status?.lastCheck?.hash === checkHash(spec, credentials)
	);
}

function readyWords({ status }: Source | Destination): string {
	const ready = findCondition(status?.conditions, "Ready");
	return ready ? ` (${ready.reason}): ${ready.message}` : " yet.";
}

/** Ready is Unknown or of an earlier spec until the object's controller has a verdict. */
function because({ metadata, status }: Source | Destination) {
	const ready = findCondition(status?.conditions, "Ready");
	const isDecided =
		ready?.status === "False" &&
		status?.observedGeneration === metadata.generation;
	return isDecided ? undefined : ("undecided" as const);
}

function problem(
	reason: Reason<"Pipeline">,
	message: string,
	because?: TargetProblem["because"],
) {
	return { problem: { reason, message, ...(because && { because }) } };
}
