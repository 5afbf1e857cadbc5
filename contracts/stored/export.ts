import type { UtcDate } from "../utc-date.ts";

/** The API's request for links to the files of an Export, JSON on {@link file://../nats.ts exportSubject}. */
export interface ExportRequest {
	/** metadata.uid of the Operation. */
	operation: string;
	account: string;
	/** Only dates after this one. */
	after?: UtcDate;
}

export type ExportAnswer =
	| {
			ok: true;
			/** In the order of dates. All files of a date are on one page. */
			files: ExportFile[];
			/** The last date of the page, if there are later ones with files. */
			next?: UtcDate;
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
