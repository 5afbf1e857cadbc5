import type { UtcDate } from "./utc-date.ts";

/** The form of a page's end. Only archive reads it. */
export const exportCursorForm = /^\d{4}-\d\d-\d\d(\.\d{1,9}\.[0-9a-f]{16})?$/;

/** The API's request for links to the files of an Export, JSON on {@link file://./nats.ts exportSubject}. */
export interface ExportRequest {
	/** metadata.uid of the Operation. */
	operation: string;
	account: string;
	/** What is behind it: {@link ExportAnswer}'s `next` of the page before. */
	after?: string;
}

export type ExportAnswer =
	| {
			ok: true;
			/** In the order of dates. */
			files: ExportFile[];
			/** The end of the page, if there are more files. */
			next?: string;
			/** When the links expire, RFC 3339. */
			expiresAt: string;
	  }
	| { ok: false; error: { code: string; message: string; retryable: boolean } };

/** Parquet, with the columns that docs/lake.md describes. */
export interface ExportFile {
	date: UtcDate;
	/** Unique in the Export: it may become a file's name. */
	name: string;
	rows: number;
	bytes: number;
	/** Presigned GET. A secret: it lets anyone read the events. */
	url: string;
}
