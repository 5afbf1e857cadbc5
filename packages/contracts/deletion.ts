import type { UtcDate } from "./utc-date.ts";

/**
 * Operator's request to archive to delete all events of a Source, JSON on {@link file://./nats.ts deletionSubject}.
 * Operator repeats it until the answer says that nothing is left. No URL of the Source may still be served.
 */
export interface DeletionRequest {
	account: string;
	sourceKey: string;
}

export type DeletionAnswer =
	| {
			ok: true;
			/** No event of the Source is left in the bucket, nor in the stream on its way there. */
			isDone: boolean;
			/** Objects deleted for this request. */
			objects: number;
			/** While not done: events before this date are gone. */
			remainsFrom?: UtcDate;
	  }
	| { ok: false; error: { code: string; message: string; retryable: boolean } };
