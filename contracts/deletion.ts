import type { UtcDate } from "./utc-date.ts";

/**
 * Operator's question to archive to delete all that it has stored of a Source, JSON on {@link file://./nats.ts deletionSubject}.
 * It is asked again until the answer says that nothing is left; no URL of the Source may be served any more.
 */
export interface DeletionQuestion {
	account: string;
	sourceKey: string;
}

export type DeletionAnswer =
	| {
			ok: true;
			/** No event of the Source is left in the bucket, and none in the stream that could still get there. */
			isDone: boolean;
			/** Objects deleted for this question. */
			objects: number;
			/** When it isn't done: events of earlier dates than this are gone. */
			remainsFrom?: UtcDate;
	  }
	| { ok: false; error: { code: string; message: string; retryable: boolean } };
