import type { UtcDate } from "./utc-date.ts";

/**
 * A Run's manifest: which objects hold the events of which dates, as of one instant. Archive writes it once per Run
 * (`<prefix>/runs/<Run uid>.json`, `If-None-Match: *`); every attempt of the Run loads what it says. When its links run out,
 * the same events by new ones, to the objects that hold them then, are written beside it (`<Run uid>-2.json`, …).
 */
export interface Manifest {
	version: 1;
	/** metadata.uid of the Run. */
	run: string;
	account: string;
	sourceKey: string;
	/** Every event acknowledged before this instant, and none that is not archived, is in `dates`. RFC 3339. */
	snapshotTime: string;
	/** The latest date that can get no more events. */
	closedThrough: UtcDate;
	/** Date of the Source's first event; absent when it has none. */
	firstEventDate?: UtcDate;
	/** When the presigned URLs stop working, RFC 3339. */
	expiresAt: string;
	/** One entry for every date of the asked range, ascending, also when it holds no event. */
	dates: ManifestDate[];
}

export interface ManifestDate {
	date: UtcDate;
	/** Events by the ledger: the sum of the objects' rows. */
	rows: number;
	objects: ManifestObject[];
}

export interface ManifestObject {
	/** Object key, for errors and logs. */
	key: string;
	/** Presigned GET. A secret: whoever has it can read the object. */
	url: string;
	rows: number;
	bytes: number;
}

/** Operator's request to archive, JSON on {@link file://./nats.ts manifestSubject}. */
export interface ManifestRequest {
	run: string;
	account: string;
	sourceKey: string;
	/** Earliest date wanted. Archive clamps it to the first event's date and to today − 30. */
	start?: UtcDate;
	/** Latest date wanted. Archive clamps it to the snapshot's date. */
	end?: UtcDate;
	/** The links of the Run's manifest no longer work: give it new ones, if there is one. */
	renew?: boolean;
}

export type ManifestAnswer =
	| {
			ok: true;
			/** Presigned GET of the manifest. A secret. */
			url: string;
			snapshotTime: string;
			closedThrough: UtcDate;
			firstEventDate?: UtcDate;
			/** First and last date of the manifest; absent when the range is empty. */
			dates?: { start: UtcDate; end: UtcDate };
			expiresAt: string;
			/** PEM certificates of the authorities that sign the store's, beside the public ones; absent when those are enough. */
			authorities?: string;
	  }
	| { ok: false; error: { code: string; message: string; retryable: boolean } };
