import type { UtcDate } from "./utc-date.ts";

/**
 * An archive's request to that of another shard of a Source: archive what the shard has of it, then say what that is. JSON on
 * {@link file://./nats.ts shareSubject}.
 */
export interface ShareRequest {
	account: string;
	sourceKey: string;
	/** Dates before this one are known. */
	from?: UtcDate;
}

export type ShareAnswer =
	| {
			ok: true;
			/** Absent if the shard has no events of the Source. */
			firstEventDate?: UtcDate;
			/** Of the dates that the shard's index holds. */
			dates: SharedDate[];
			/** There are more from this date on. */
			next?: UtcDate;
	  }
	| { ok: false; error: { code: string; message: string; retryable: boolean } };

/** The objects of a date and those in quarantine, by stream: see ingest/archive/ledger/date-objects.ts. */
export interface SharedDate {
	date: UtcDate;
	objects: [stream: string, packed: string][];
	quarantined: [stream: string, packed: string][];
}
