import type {
	BodyColumnType,
	TableColumn,
} from "../../packages/contracts/job.ts";
import { parameterField } from "../../packages/contracts/route.ts";
import { plannedType } from "./planned-type.ts";
import type { PipelineReferences } from "./state.ts";

const columnNames = {
	EventID: "event_id",
	Timestamp: "timestamp",
	Body: "body",
	Date: "date",
	Violations: "violations",
} as const;

/** Without a precision and a scale: what every warehouse's own default holds. */
const defaultDecimal = { precision: 38, scale: 9 };

/** The table's columns in order, or why the type of one is unknown and what to do about it. */
export function columnsOf({
	pipeline,
	source,
	trackingPlan,
}: Pick<PipelineReferences, "pipeline" | "source" | "trackingPlan">):
	| { columns: TableColumn[] }
	| { problem: string; isPlanMissing: boolean } {
	const { columns, bodyColumns = [] } = pipeline.spec.table;
	const plan = source?.spec.webhook?.trackingPlanRef?.name;
	const fromBody: TableColumn[] = [];
	for (const { name, bodyPointer, type, ...decimal } of bodyColumns) {
		const found = type ?? typeBy(bodyPointer, plan, trackingPlan);
		if (typeof found === "object")
			return {
				problem: `Column "${name}" of spec.table.bodyColumns has no type, and ${found.problem.replace(/\.$/, "")}. Set its type.`,
				isPlanMissing: plan !== undefined && !trackingPlan,
			};
		fromBody.push({
			name,
			from:
				found === "Decimal"
					? { bodyPointer, type: found, ...defaultDecimal, ...decimal }
					: { bodyPointer, type: found },
		});
	}
	return {
		columns: [
			...columns.map((from) => ({ name: columnNames[from], from })),
			...fromBody,
			...(source?.spec.webhook?.capturedHeaders ?? []).map((header) => ({
				name: `header_${header.replaceAll("-", "_")}`,
				from: { header },
			})),
			...(source?.spec.webhook?.capturedQueryParameters ?? []).map((name) => ({
				name: `query_${name.toLowerCase().replaceAll(/[.-]/g, "_")}`,
				from: { header: parameterField(name) },
			})),
		],
	};
}

function typeBy(
	pointer: string,
	plan: string | undefined,
	trackingPlan: PipelineReferences["trackingPlan"],
): BodyColumnType | { problem: string } {
	if (plan === undefined)
		return { problem: "the Source has no TrackingPlan that could say it" };
	if (!trackingPlan) return { problem: `there is no TrackingPlan "${plan}"` };
	if ("fault" in trackingPlan)
		return {
			problem: `TrackingPlan "${plan}" can't be read: ${trackingPlan.fault}`,
		};
	const type = plannedType(pointer, trackingPlan);
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

/** How a layout names a column. Another type or place in the body is another layout. */
export function layoutNameOf({ name, from }: TableColumn): string {
	if (typeof from !== "object" || !("bodyPointer" in from)) return name;
	const type =
		from.type === "Decimal"
			? `Decimal(${from.precision},${from.scale})`
			: from.type;
	return `${name} ${type} ${from.bodyPointer}`;
}
