/**
 * A webhook request that receive refused, as JSON on {@link file://./nats.ts refused}. Receive removes what can be a credential
 * before it publishes: no header's value is here but two, nothing of the URL, and no secret that it knows in the body.
 */
export interface RefusedRequest {
	version: 1;
	/** When it was answered, RFC 3339. */
	time: string;
	status: number;
	/** Of receive's table of refusals. */
	code: string;
	/** What is wrong and what to do about it, as the sender read it. */
	message: string;
	/** What exactly is wrong. It names fields of the Source and headers, never a value that was sent. */
	cause?: string;
	method: string;
	contentType?: string;
	userAgent?: string;
	/** Bytes of the body: as the sender announced them, or as many as arrived. */
	bytes?: number;
	/** Names in lower case; the first ones, if there are many. */
	headerNames: string[];
	/** How many of the Source were refused and left out since the one before. */
	leftOut?: number;
	/** The beginning of an uncompressed body that was read. It needs the right to bodies. */
	bodyHead?: string;
	/** How the event violates the tracking plan, the first ones. It needs the right to bodies, since it names the body's properties. */
	violations?: unknown[];
	/** How many violations there are beside these. */
	otherViolations?: number;
}

/** A refused request and its place in the stream. */
export interface KeptRefusal {
	sequence: number;
	request: RefusedRequest;
}

/** Of a record as JSON: the stream takes no longer one. */
export const maxRecordBytes = 16 * 1024;

/** Of the stream: how long it keeps records, and all of them together. */
export const refusedStream = {
	keptMs: 6 * 60 * 60_000,
	maxBytes: 32 * 1024 ** 2,
} as const;

/** Of the body's head. */
export const maxHeadBytes = 1_024;

/** How many refused requests of a Source are kept. */
export const maxKeptOfSource = 50;
