import {
	type ContentMatch,
	type EventState,
	maxGlimpseBytes,
	type ReceivedState,
	receivedState,
	type StoredEvent,
} from "../../../packages/contracts/stored-event.ts";
import type { ValidationRecord } from "../../../packages/contracts/tracking-plan.ts";
import { decodeFrame } from "../../wire/frame.ts";
import { hasContent } from "./content-match.ts";

/** A stored event as the thread reads it from an object or a frame. */
export interface StoredRow extends RowPlace {
	kind: "json" | "form";
	/** Of the body. */
	bytes: number;
	/** The plan's {@link ValidationRecord}; absent without a plan. */
	validation?: ValidationRecord;
	/** Only of a frame's event. */
	state?: ReceivedState;
	/** Of the frame that has it; absent for an object's. */
	sequence?: number;
	/** Only of a frame's event. */
	sourceKey?: string;
	/** Stream time of the frame. */
	storedMs?: number;
	/** Only if it was asked for: the captured headers as JSON. */
	headers?: string;
	body?: Uint8Array;
	glimpse?: string;
}

/** Where a row is in the order of time and ID, which is that of the objects' rows. */
export interface RowPlace {
	timeMs: number;
	/** A UUID's text. */
	eventID: string;
}

/** Which rows to take: the newest that meet all of it. */
export interface RowChoice {
	limit: number;
	/** Both included. */
	fromMs?: number;
	toMs?: number;
	/** Only rows before this one. */
	before?: RowPlace;
	types?: readonly string[];
	match?: ContentMatch;
	eventID?: string;
	/** With body and captured headers. */
	whole?: boolean;
	/** With the beginning of the body. */
	glimpse?: boolean;
}

/** Whether a row's time and ID meet the choice. */
export function isChosen(
	{ fromMs = 0, toMs = Infinity, before, eventID }: RowChoice,
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
	{ types }: RowChoice,
	validation: ValidationRecord | undefined,
): boolean {
	return (
		types === undefined ||
		(validation?.type !== undefined && types.includes(validation.type))
	);
}

export function isBefore(a: RowPlace, b: RowPlace): boolean {
	return a.timeMs === b.timeMs ? a.eventID < b.eventID : a.timeMs < b.timeMs;
}

/** The newest first. */
export function newestFirst<Row extends RowPlace>(rows: Row[]): Row[] {
	return rows.sort((a, b) => (isBefore(a, b) ? 1 : -1));
}

/** Undefined for the text of an event without a validation. */
export function validationOf(text: string): ValidationRecord | undefined {
	return text === "" ? undefined : (JSON.parse(text) as ValidationRecord);
}

/** What a list shows. */
export function storedEvent(
	{ eventID, timeMs, kind, bytes, validation }: StoredRow,
	state: EventState,
): StoredEvent {
	const { type, violations = [] } = validation ?? {};
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

/** A message of a shard's stream, as it is there. */
export interface FrameMessage {
	sequence: number;
	/** Stream time. */
	timeMs: number;
	bytes: Uint8Array;
}

export interface FramesChoice extends RowChoice {
	account: string;
	sourceKeys: readonly string[];
	state?: ReceivedState;
}

/** The chosen events of frames, the newest first. Throws FrameError. */
export function rowsOfFrames(
	frames: readonly FrameMessage[],
	choice: FramesChoice,
): StoredRow[] {
	const { account, sourceKeys, whole, limit, match } = choice;
	const wanted = new Set(sourceKeys);
	const rows: StoredRow[] = [];
	for (const { sequence, timeMs: storedMs, bytes } of frames)
		for (const event of decodeFrame(bytes).events) {
			const { id, receivedAtMs: timeMs, sourceKey, kind, body } = event;
			if (event.account !== account || !wanted.has(sourceKey)) continue;
			const state = receivedState(event);
			if (choice.state !== undefined && choice.state !== state) continue;
			const eventID = idText(id);
			if (!isChosen(choice, { timeMs, eventID })) continue;
			const validation = validationOf(event.violations);
			if (!hasType(choice, validation)) continue;
			if (match && !hasContent(match, body, event.headers)) continue;
			rows.push({
				eventID,
				timeMs,
				kind,
				bytes: body.length,
				...(validation && { validation }),
				state,
				sequence,
				sourceKey,
				storedMs,
				...(whole && { headers: event.headers, body: Uint8Array.from(body) }),
				...(choice.glimpse && { glimpse: glimpseOf(body) }),
			});
		}
	return newestFirst(rows).slice(0, limit);
}

/** The beginning of a text, in whole characters. */
export function glimpseOf(body: Uint8Array): string {
	const start = body.subarray(0, maxGlimpseBytes);
	// `stream` keeps back what a cut character has left.
	return new TextDecoder().decode(start, {
		stream: body.length > start.length,
	});
}

/** RFC 9562 §4. */
function idText(id: Uint8Array): string {
	const hex = Buffer.from(id.buffer, id.byteOffset, 16).toString("hex");
	return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
