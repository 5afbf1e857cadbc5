import type {
	Destination,
	Pipeline,
	PipelineBodyColumn,
} from "../../crds/generated/types.ts";
import {
	headerColumnOf,
	parameterColumnOf,
	rescuedColumn,
	tableNameOf,
} from "../../crds/table-name.ts";
import { isTimeZone, zoneForm } from "../../crds/wall-clock.ts";
import {
	type BodyColumnType,
	type BodyValueType,
	type ColumnRoom,
	maxBodyColumns,
	type TableColumn,
} from "../../packages/contracts/job.ts";
import { parameterField } from "../../packages/contracts/route.ts";
import { columnNames } from "../../packages/warehouses/definition/definition.ts";
import { warehouses } from "../../packages/warehouses/registry.ts";
import { columnsBeside } from "./inferred-columns.ts";
import { plannedType } from "./planned-type.ts";
import type { PipelineReferences } from "./state.ts";
import { isSameTable, warehouseNameOf } from "./warehouse.ts";

/** Without a precision and a scale: what every warehouse's own default holds. */
const defaultDecimal = { precision: 38, scale: 9 };

type ColumnProblem = "ColumnTypeUnknown" | "InvalidColumn";

/**
 * The table's columns in order, with the room for more if they follow the events; or what is wrong with one and what to do
 * about it.
 */
export function columnsOf({
	pipeline,
	source,
	destination,
	trackingPlan,
}: Pick<
	PipelineReferences,
	"pipeline" | "source" | "destination" | "trackingPlan"
>):
	| { columns: TableColumn[]; room?: ColumnRoom }
	| { problem: string; reason: ColumnProblem; isPlanMissing?: boolean } {
	const { columns, bodyColumns = [] } = pipeline.spec.table;
	const plan = source?.spec.webhook?.trackingPlanRef?.name;
	const fromBody: TableColumn[] = [];
	const isText = textsOf(pipeline, destination);
	const warehouse = warehouses.get(destination?.spec.type ?? "");
	const most = warehouse?.mostBodyColumns ?? maxBodyColumns;
	if (bodyColumns.length > most)
		return {
			reason: "InvalidColumn",
			problem: `spec.table.bodyColumns has ${bodyColumns.length} columns, and a table of ${warehouse?.noun} has at most ${most} from bodies. Remove ${bodyColumns.length - most}, or change spec.destinationRef.name.`,
		};
	for (const column of bodyColumns) {
		const { name, bodyPointer, type, timeZone } = column;
		if (timeZone !== undefined && !isTimeZone(timeZone))
			return {
				reason: "InvalidColumn",
				problem: `Column "${name}" of spec.table.bodyColumns has the timeZone "${timeZone}". It ${zoneForm}.`,
			};
		const found =
			type ??
			(isText(column) ? "String" : typeBy(bodyPointer, plan, trackingPlan));
		if (typeof found === "object")
			return {
				reason: "ColumnTypeUnknown",
				problem: `Column "${name}" of spec.table.bodyColumns has no type, and ${found.problem.replace(/\.$/, "")}. Set its type.`,
				isPlanMissing: plan !== undefined && !trackingPlan,
			};
		fromBody.push({ name, from: { bodyPointer, ...valueType(column, found) } });
	}
	const fromEvent = columns.map((from) => ({ name: columnNames[from], from }));
	const fromRequest: TableColumn[] = [
		...(source?.spec.webhook?.capturedHeaders ?? []).map((header) => ({
			name: headerColumnOf(header),
			from: { header },
		})),
		...(source?.spec.webhook?.capturedQueryParameters ?? []).map((name) => ({
			name: parameterColumnOf(name),
			from: { header: parameterField(name) },
		})),
	];
	if (pipeline.spec.table.schema !== "Evolve")
		return { columns: [...fromEvent, ...fromBody, ...fromRequest] };
	const rest: TableColumn = {
		name: rescuedColumn,
		from: { bodyPointer: "", type: "String", isRest: true },
	};
	const inferred = columnsBeside(pipeline, most);
	const fromFound = inferred.columns.map((column): TableColumn => {
		const { name, bodyPointer, type } = column;
		const from = { bodyPointer, ...valueType(column, type) };
		return { name, from, isFound: true };
	});
	return {
		columns: [...fromEvent, ...fromBody, ...fromFound, ...fromRequest, rest],
		room: inferred.room,
	};
}

function valueType(
	{ precision, scale, format, timeZone }: PipelineBodyColumn,
	type: BodyColumnType,
): BodyValueType {
	if (type === "Decimal")
		return {
			type,
			precision: precision ?? defaultDecimal.precision,
			scale: scale ?? defaultDecimal.scale,
		};
	if (type !== "Timestamp") return { type };
	if (format === "Local") return { type, format, timeZone: timeZone! };
	return format === undefined || format === "RFC3339"
		? { type }
		: { type, format };
}

/** Which columns the table has as text already. A plan that comes later doesn't change them. */
function textsOf(
	pipeline: Pipeline,
	destination: Destination | undefined,
): (column: PipelineBodyColumn) => boolean {
	const loaded = pipeline.status?.lastSuccess?.layout;
	const isItsTable =
		loaded &&
		destination &&
		isSameTable(loaded, {
			destination: warehouseNameOf(pipeline, destination),
			table: tableNameOf(pipeline.metadata.name, pipeline.spec.table.name),
		});
	const known = new Set(isItsTable ? loaded.columns : []);
	return ({ name, bodyPointer }) =>
		known.has(layoutNameOf({ name, from: { bodyPointer, type: "String" } }));
}

/** Text, if nothing says a type: it has every value as it was sent. */
function typeBy(
	pointer: string,
	plan: string | undefined,
	trackingPlan: PipelineReferences["trackingPlan"],
): BodyColumnType | { problem: string } {
	if (plan === undefined) return "String";
	if (!trackingPlan) return { problem: `there is no TrackingPlan "${plan}"` };
	if ("fault" in trackingPlan)
		return {
			problem: `TrackingPlan "${plan}" can't be read: ${trackingPlan.fault}`,
		};
	const type = plannedType(pointer, trackingPlan) ?? "String";
	return typeof type === "string"
		? type
		: { problem: `TrackingPlan "${plan}" ${type.problem}` };
}

/** The columns of a table of events in quarantine: why they are there is what people look for in it. */
export function withViolations(columns: TableColumn[]): TableColumn[] {
	return columns.some(({ from }) => from === "Violations")
		? columns
		: [...columns, { name: columnNames.Violations, from: "Violations" }];
}

/** How a layout names a column. Another type, format or place in the body is another layout. */
export function layoutNameOf({ name, from }: TableColumn): string {
	if (typeof from !== "object" || !("bodyPointer" in from) || "isRest" in from)
		return name;
	const { type, bodyPointer } = from;
	const details =
		type === "Decimal"
			? [from.precision, from.scale]
			: type === "Timestamp" && from.format !== undefined
				? [from.format, ...(from.format === "Local" ? [from.timeZone] : [])]
				: [];
	const written = details.length > 0 ? `${type}(${details.join(",")})` : type;
	return `${name} ${written} ${bodyPointer}`;
}
