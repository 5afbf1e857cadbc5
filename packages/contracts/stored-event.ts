import type { Violation, ViolationKind } from "./tracking-plan.ts";
import type { UtcDate } from "./utc-date.ts";

/**
 * The API's questions to archive about stored events, JSON on {@link file://./nats.ts eventsSubject}. A source key is a secret
 * that the API reads from a Source with its caller's token, so the API can ask for nothing that its callers may not see.
 */
export interface EventsRequest {
	account: string;
	/** At most {@link maxSourcesAsked}; one for a list. */
	sourceKeys: string[];
	/** Absent for the question for one event. */
	list?: EventsAsked;
	/** Event ID of one event. */
	id?: string;
	/** With the body and the captured headers; only for one event. */
	body?: boolean;
	/** A sender's key may repeat for this long after an ID's time, so the event may be that much later than its ID. */
	keySeconds?: number;
}

export const maxSourcesAsked = 100;
export const maxEventsAsked = 1_000;

export interface EventsAsked {
	limit: number;
	/** RFC 3339; both bounds of the receipt time are included. */
	from?: string;
	to?: string;
	/** The plan's event types. */
	types?: string[];
	state?: EventState;
	/** Also when each event was stored, and released. */
	stored?: true;
	/** Imported events belong to no shard, so one of a Source's shards lists them. */
	withoutImported?: true;
	/** Where the page before ended. */
	cursor?: string;
	/** Also the beginning of each body. Who asks may see bodies. */
	glimpse?: true;
	/** Only events that have this. Who asks may see bodies. */
	match?: ContentMatch;
}

/**
 * A value that an event has: where a JSON Pointer (RFC 6901) leads in its body, or in a captured field
 * ({@link file://./route.ts parameterField}).
 */
export type ContentMatch = { value: string } & (
	| { bodyPointer: string; field?: never }
	| { field: string; bodyPointer?: never }
);

/**
 * `accepted`: a row of its date. `quarantined`: its tracking plan keeps it apart. `released`: it was kept apart, and is a row
 * now. `imported`: a row of its date, which came with a file.
 */
export type EventState = "accepted" | "quarantined" | "released" | "imported";

export const eventStates: readonly EventState[] = [
	"accepted",
	"quarantined",
	"released",
	"imported",
];

/** Of an event that its tracking plan keeps apart: at first, and once it is a row. */
export const statesApart: readonly [EventState, EventState] = [
	"quarantined",
	"released",
];

export type ReceivedState = "accepted" | "quarantined";

/** Of an event that hasn't been archived yet. */
export function receivedState({
	quarantined,
}: {
	quarantined?: true | undefined;
}): ReceivedState {
	return quarantined ? "quarantined" : "accepted";
}

/** Whether an event can have the state before it is archived. */
export function isReceivedState(state: EventState): state is ReceivedState {
	return state === "accepted" || state === "quarantined";
}

/** What is known of an event without its body. */
export interface StoredEvent {
	eventID: string;
	/** When it was received, RFC 3339. */
	time: string;
	/** As its tracking plan has it; absent without a plan. */
	type?: string;
	kind: "json" | "form";
	/** Of the body. */
	bytes: number;
	state: EventState;
	/** How it deviates from its plan, each kind once; absent if it doesn't. */
	violations?: ViolationKind[];
}

/** An event in a list. The times are there if the list asked for them. */
export interface ListedEvent extends StoredEvent {
	/** As of a {@link FoundEvent}. */
	storedTime?: string;
	/** When it was released. */
	releasedTime?: string;
	/** If it was asked for: the beginning of the body, at most {@link maxGlimpseBytes}. */
	glimpse?: string;
}

export const maxGlimpseBytes = 200;

export type EventsAnswer =
	| {
			ok: true;
			events: ListedEvent[];
			/** Absent at the end. A page may have fewer events than asked for, and even none, before the end. */
			cursor?: string;
			/** With a cursor: what is later than this was looked at, RFC 3339. */
			reached?: string;
	  }
	| EventsRefusal;

/** One event, and where it is. */
export interface FoundEvent extends Omit<StoredEvent, "violations"> {
	sourceKey: string;
	violations?: Violation[];
	otherViolations?: number;
	plan?: string;
	planVersion?: string;
	/** `Buffer`: in the stream, on its way to the bucket. `Bucket`: in an object. */
	stage: "Buffer" | "Bucket";
	/** The frame's sequence, or those of the cut that has it. Absent if compaction has merged the cuts. */
	frames?: { stream: string; first: number; last: number };
	/** Key of the object. */
	object?: string;
	/** When the first frame of its cut came to the stream, or an Import added it, RFC 3339: every later manifest has the event. */
	storedTime: string;
	/** When it was released, and the object that has it since. */
	released?: { time: string; object: string };
	/** The captured fields ({@link file://./route.ts}). */
	headers?: Record<string, string>;
}

/** If there is a body, it follows the answer's JSON after a line feed. */
export type EventAnswer =
	| {
			ok: true;
			/** Absent if there is no such event. */
			event?: FoundEvent;
			/** The dates that were searched; `isCut` if what was imported, or what is later than its ID, took too long to look through. */
			searched: { from: UtcDate; to: UtcDate; isCut?: true };
	  }
	| EventsRefusal;

export interface EventsRefusal {
	ok: false;
	error: { code: string; message: string; retryable: boolean };
}
