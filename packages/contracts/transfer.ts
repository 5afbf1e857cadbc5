import { maxFrameBytes } from "./nats.ts";
import type { UtcDate } from "./utc-date.ts";

/*
 * An Import goes through three hands. The API gives links, by which people put their files into the bucket. The Operation's
 * Job parses them, and leaves parts: frames of events, as receive makes them. Archive makes objects of the parts. So archive
 * parses nothing but frames, and the Job writes no object that others read.
 */

export const maxImportFiles = 100;
/** Of one file. */
export const maxUploadBytes = 1024 ** 3;
/** Of all files of an account that are in the bucket or have a link. They go {@link keptUploadDays} after they came. */
export const maxUploadedBytes = 10 * 1024 ** 3;
/** Of an account, with those that have a link. Archive lists them for each request. */
export const maxUploadedFiles = 10_000;
/** Of an account, for files that haven't come. */
export const maxGivenLinks = 1_000;
export const keptUploadDays = 3;

/** Events that one Operation adds. The Job holds their ids in memory. */
export const maxImportEvents = 1_000_000;
export const maxImportParts = 128;
/** A part is the length of a frame (u32, big-endian), the frame, and zeros: its link is for this length alone. */
export const importPartBytes = maxFrameBytes + 4;

/** SHA-256 of a file, 64 hex digits. It is the file's name in the bucket. */
export const digestForm = /^[0-9a-f]{64}$/;

/** The API's request for links to upload files, JSON on {@link file://./nats.ts uploadSubject}. */
export interface UploadRequest {
	account: string;
	files: { sha256: string; bytes: number }[];
}

export type UploadAnswer =
	| {
			ok: true;
			/** As asked. */
			files: UploadFile[];
			/** When the links expire, RFC 3339. */
			expiresAt: string;
	  }
	| { ok: false; error: { code: string; message: string; retryable: boolean } };

export interface UploadFile {
	sha256: string;
	/** A presigned PUT of exactly the file's bytes, with these headers. A secret. Absent if the file is in the bucket. */
	link?: { url: string; headers: Record<string, string> };
}

/** Operator's request to archive to add the parts of an Import, JSON on {@link file://./nats.ts importSubject}. A part is added once. */
export interface ImportRequest {
	/** metadata.uid of the Operation. */
	operation: string;
	account: string;
	sourceKey: string;
	/** How many parts its Job has left. */
	parts: number;
}

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

/** Parquet, with the columns that docs/reference/bucket.md describes. */
export interface ExportFile {
	date: UtcDate;
	/** Unique in the Export: it may become a file's name. */
	name: string;
	rows: number;
	bytes: number;
	/** Presigned GET. A secret: it lets anyone read the events. */
	url: string;
}
