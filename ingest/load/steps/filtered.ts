import type { EventFilter } from "../../../packages/contracts/job.ts";
import type {
	PlanDocument,
	ValidationRecord,
} from "../../../packages/contracts/tracking-plan.ts";
import { quoteText } from "../../../packages/duckdb/quoting.ts";
import type { Session } from "../../../packages/duckdb/session.ts";
import {
	bodyHasText,
	bodyText,
	defineBodyValues,
	headerValueFunction,
} from "../../../packages/warehouses/load/body-values.ts";
import type { DateStep, DateWords } from "./step.ts";

/** Keeps only the events that the Pipeline's filter wants. */
export function filtered({ input }: DateWords): DateStep | undefined {
	const { filter } = input;
	if (!filter) return undefined;
	const { types, match } = filter;
	const conditions = [
		...(types ? [isOfType(types)] : []),
		...(match ? [bodyHasText("body", match)] : []),
	];
	const keep = conditions.join(" AND ");
	return { on: () => ({ keep, define: defineTypes }) };
}

/** The function of SQL that gives the type that a plan has recorded with an event. */
const recordedType = "tidemill_recorded_type";

function typeIn(violations: string): string {
	const { type = "" }: Partial<ValidationRecord> = JSON.parse(violations);
	return type;
}

function isOfType({ oneOf, place }: NonNullable<EventFilter["types"]>): string {
	return `${typeOfEvent(place)} IN (${oneOf.map(quoteText).join(", ")})`;
}

/** An event's type, in SQL; NULL if it has none. It needs {@link defineTypes}. */
export function typeOfEvent(place: PlanDocument["eventType"]): string {
	if ("constant" in place) return quoteText(place.constant);
	if ("bodyPointer" in place) return bodyText("body", place.bodyPointer);
	const header = `${headerValueFunction}(headers, ${quoteText(place.header)})`;
	const captured = `CASE WHEN ${header} <> '?' THEN substr(${header}, 2) END`;
	return `coalesce(${captured}, nullif(${recordedType}(violations, ''), ''))`;
}

export function defineTypes(session: Session): void {
	defineBodyValues(session);
	session.define(recordedType, typeIn, { isConstant: true });
}
