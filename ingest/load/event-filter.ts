import type { EventFilter } from "../../packages/contracts/job.ts";
import type { ValidationRecord } from "../../packages/contracts/tracking-plan.ts";
import { quoteText } from "../../packages/duckdb/quoting.ts";
import type { Session } from "../../packages/duckdb/session.ts";
import {
	bodyHasText,
	bodyTextIsOneOf,
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
	defineBodyValues(session);
	session.define(recordedType, typeIn, { isConstant: true });
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
	const list = oneOf.map(quoteText).join(", ");
	if ("constant" in place) return `${quoteText(place.constant)} IN (${list})`;
	if ("bodyPointer" in place)
		return bodyTextIsOneOf("body", place.bodyPointer, oneOf);
	const header = `${headerValueFunction}(headers, ${quoteText(place.header)})`;
	const captured = `CASE WHEN ${header} <> '?' THEN substr(${header}, 2) END`;
	return `coalesce(${captured}, ${recordedType}(violations, '')) IN (${list})`;
}
