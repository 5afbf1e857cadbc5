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
}

/** Stands in the place of a Source's ledger once its events were deleted for good: its source key is never used again. */
export interface DeletedLedger {
	version: 1;
	account: string;
	sourceKey: string;
	/** When archive was told, RFC 3339. */
	deletedTime: string;
}
