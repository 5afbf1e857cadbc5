import { randomUUID } from "node:crypto";
import type { BigQueryJob } from "../../../../packages/warehouses/bigquery/load/rest/google-refusal.ts";
import { Fault, invalid } from "./fault.ts";

export interface Session {
	/** The body of the first request: a job, or an object's metadata. */
	resource: object;
	/** Undefined until a request says it: X-Upload-Content-Length is optional. */
	size: number | undefined;
	received: Buffer;
	/** What the complete data became. */
	made?: object;
}

/**
 * Sessions of resumable uploads, which BigQuery and Cloud Storage have in common
 * (cloud.google.com/bigquery/docs/reference/api-uploads#resumable, cloud.google.com/storage/docs/performing-resumable-uploads).
 */
export class Uploads {
	readonly #sessions = new Map<string, Session>();
	/** Every chunk but the last is a multiple of this. */
	static readonly granuleBytes = 256 * 1024;

	begin(resource: object, size: number | undefined): string {
		const id = randomUUID();
		this.#sessions.set(id, { resource, size, received: Buffer.alloc(0) });
		return id;
	}

	/** Loses all sessions, as BigQuery may at any time. */
	forgetAll(): void {
		this.#sessions.clear();
	}

	/** Adds a chunk, or none for a range of `*`, and returns the session. */
	put(id: string, range: string, body: Buffer): Session {
		const session = this.#sessions.get(id);
		if (!session) throw new Fault(410, "gone", "Upload session is gone");
		const [, first, last, total] =
			/^bytes (?:(\d+)-(\d+)|\*)\/(\d+)$/.exec(range) ?? [];
		session.size ??= Number(total);
		if (Number(total) !== session.size)
			throw invalid(`Invalid Content-Range: ${range}`);
		if (first !== undefined)
			this.#append(session, Number(first), Number(last), body);
		return session;
	}

	#append(session: Session, first: number, last: number, body: Buffer): void {
		if (last - first + 1 !== body.length)
			throw invalid("Content-Range and the body differ in length");
		if (first > session.received.length)
			throw invalid("Content-Range leaves a gap");
		const isLast = last + 1 === session.size;
		if (!isLast && body.length % Uploads.granuleBytes !== 0)
			throw invalid("A chunk must be a multiple of 256 KiB");
		const fresh = body.subarray(session.received.length - first);
		session.received = Buffer.concat([session.received, fresh]);
	}
}

/** The job and the data of a multipart/related upload. */
export function parseMultipart(
	contentType: string,
	body: Buffer,
): { job: BigQueryJob; data: Buffer } {
	const boundary = /boundary="?([^";]+)/.exec(contentType)?.[1];
	if (!boundary) throw invalid("Missing multipart boundary");
	const parts: Buffer[] = [];
	const mark = Buffer.from(`--${boundary}`);
	for (let at = body.indexOf(mark); at >= 0; ) {
		const next = body.indexOf(mark, at + mark.length);
		if (next < 0) break;
		const part = body.subarray(at + mark.length, next);
		const head = part.indexOf("\r\n\r\n");
		parts.push(part.subarray(head + 4, part.length - 2));
		at = next;
	}
	const [metadata, data] = parts;
	if (!metadata || !data) throw invalid("Expected two parts");
	return { job: JSON.parse(metadata.toString()) as BigQueryJob, data };
}
