import type {
	EventState,
	StoredEvent,
} from "../../../packages/contracts/stored-event.ts";
import type { ValidationRecord } from "../../../packages/contracts/tracking-plan.ts";

/** A stored event as the thread reads it from an object or a frame. */
export interface EventRow extends RowPlace {
	kind: "json" | "form";
	/** Of the body. */
	bytes: number;
	/** The plan's {@link ValidationRecord}; absent without a plan. */
	judgement?: ValidationRecord;
	/** Only of a frame's event. */
	quarantined?: true;
	/** Of the frame that has it; absent for an object's. */
	sequence?: number;
	/** Only of a frame's event. */
	sourceKey?: string;
	/** Stream time of the frame. */
	storedMs?: number;
	/** Only if it was asked for: the captured headers as JSON. */
	headers?: string;
	body?: Uint8Array;
}

/** Where a row is in the order of time and ID, which is that of the objects' rows. */
export interface RowPlace {
	timeMs: number;
	/** A UUID's text. */
	eventID: string;
}

/** Which rows to take: the newest that meet all of it. */
export interface Choice {
	limit: number;
	/** Both included. */
	fromMs?: number;
	toMs?: number;
	/** Only rows before this one. */
	before?: RowPlace;
	types?: readonly string[];
	eventID?: string;
	/** With body and captured headers. */
	whole?: boolean;
}

/** Whether a row's time and ID meet the choice. */
export function isChosen(
	{ fromMs = 0, toMs = Infinity, before, eventID }: Choice,
	place: RowPlace,
): boolean {
	return (
		place.timeMs >= fromMs &&
		place.timeMs <= toMs &&
		(before === undefined || isBefore(place, before)) &&
		(eventID === undefined || place.eventID === eventID)
	);
}

/** Whether the plan gave the event one of the chosen types. */
export function hasType(
	{ types }: Choice,
	judgement: ValidationRecord | undefined,
): boolean {
	return (
		types === undefined ||
		(judgement?.type !== undefined && types.includes(judgement.type))
	);
}

export function isBefore(a: RowPlace, b: RowPlace): boolean {
	return a.timeMs === b.timeMs ? a.eventID < b.eventID : a.timeMs < b.timeMs;
}

/** The newest first. */
export function newestFirst<Row extends RowPlace>(rows: Row[]): Row[] {
	return rows.sort((a, b) => (isBefore(a, b) ? 1 : -1));
}

/** Undefined for the text of an event without a judgement. */
export function judgementOf(text: string): ValidationRecord | undefined {
	return text === "" ? undefined : (JSON.parse(text) as ValidationRecord);
}

/** What a list shows. */
export function storedEvent(
	{ eventID, timeMs, kind, bytes, judgement }: EventRow,
	state: EventState,
): StoredEvent {
	const { type, violations = [] } = judgement ?? {};
	const kinds = [...new Set(violations.map((violation) => violation.kind))];
	return {
		eventID,
		time: new Date(timeMs).toISOString(),
		...(type !== undefined && { type }),
		kind,
		bytes,
		state,
		...(kinds.length > 0 && { violations: kinds }),
	};
}
