import type { EventFilter } from "../../packages/contracts/job.ts";
import type {
	PlanDocument,
	ValidationRecord,
} from "../../packages/contracts/tracking-plan.ts";
import { quoteText } from "../../packages/duckdb/quoting.ts";
import type { Session } from "../../packages/duckdb/session.ts";
import {
	bodyHasText,
	bodyText,
	defineBodyValues,
	headerValueFunction,
} from "../../packages/warehouses/load/body-values.ts";
import type { DayObject } from "../../packages/warehouses/load/load-day.ts";
import { withoutRows } from "./released-events.ts";

/**
 * The objects with only the events that the filter wants. Their files are on disk, with the bodies as they came. An object that
 * is left without events stays in the list, so that records name it.
 */
export async function chosenEvents(
	objects: readonly DayObject[],
	{ types, match }: EventFilter,
	session: Session,
): Promise<DayObject[]> {
	if (objects.length === 0) return [];
	defineTypes(session);
	const conditions = [
		...(types ? [isOfType(types)] : []),
		...(match ? [bodyHasText("body", match)] : []),
	];
	return withoutRows(
		objects,
		`NOT coalesce(${conditions.join(" AND ")}, false)`,
		session,
	);
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
