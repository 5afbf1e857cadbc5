import type { ViolationKind } from "./tracking-plan.ts";
import type { UtcDate } from "./utc-date.ts";

/**
 * Operator's request to archive to release events from quarantine, JSON on {@link file://./nats.ts releaseSubject}. An
 * Operation releases the events of a date once, however often operator repeats the request.
 */
export interface ReleaseRequest {
	/** metadata.uid of the Operation. */
	operation: string;
	account: string;
	sourceKey: string;
	start: UtcDate;
	end: UtcDate;
	filter: ReleaseFilter;
}

/** An event must match each field that is there. */
export interface ReleaseFilter {
	/** The events' types, as their judgements have them. */
	types?: string[];
	/** At least one of the event's violations is of these kinds. */
	kinds?: ViolationKind[];
	eventIDs?: string[];
}

export type ReleaseAnswer =
	| {
			ok: true;
			/** The dates of which the Operation has released events, ascending. */
			dates: { date: UtcDate; events: number }[];
	  }
	| { ok: false; error: { code: string; message: string; retryable: boolean } };
