import type { UtcDate } from "./utc-date.ts";

/**
 * What archive has made durable for one Source, published into the ledger bucket under the source key after each cut.
 * A view for people and for planning; the cut records are the truth and rebuild it.
 */
export interface SourceLedger {
	version: 1;
	account: string;
	sourceKey: string;
	/** Date of the first event ever archived. */
	firstEventDate: UtcDate;
	/** Receipt time of the latest archived event, RFC 3339. */
	lastEventTime: string;
	/** Stream time through which the Source's shard is archived, RFC 3339. */
	archivedThrough: string;
	/** Events archived per date, for the dates that are retained. */
	archived: Record<UtcDate, number>;
	/** Events per date that were accepted and kept aside; absent when the cut records speak of none. */
	quarantined?: Record<UtcDate, number>;
}

/** Runs load dates this many days back from today, so events stay at least that long. */
export const retainedDays = 30;

/** The entry of the ledger bucket that is no Source's: how long events stay, {@link RetentionState}. */
export const retentionKey = "retention";

export interface RetentionState {
	version: 1;
	/** Days for which an event stays after its date. */
	days: number;
	/** Who removes events after that: a lifecycle rule of the store, or archive's own sweep where the store has none. */
	enforcedBy: "Lifecycle" | "Sweep";
}

/** Stands in the place of a Source's ledger once its events were deleted for good: its source key is never used again. */
export interface DeletedLedger {
	version: 1;
	account: string;
	sourceKey: string;
	/** When archive was told, RFC 3339. */
	deletedTime: string;
}
