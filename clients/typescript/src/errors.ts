/** The base of all errors of this client. */
export class TidemillError extends Error {
	override readonly name: string = this.constructor.name;
}

/** A field of a request that is wrong. */
export interface FieldError {
	path: string;
	message: string;
}

/** The API refused a request (RFC 9457). */
export class ApiError extends TidemillError {
	/** The HTTP status. */
	readonly status: number;
	/** For programs. Codes never change. */
	readonly code: string;
	/** What is wrong with this request and what to do next. */
	readonly detail: string;
	/** The invalid fields, if fields are invalid. */
	readonly details: FieldError[];
	readonly requestId: string;

	constructor(
		status: number,
		code: string,
		detail: string,
		details: FieldError[],
		requestId: string,
	) {
		const fields = details.map(
			({ path, message }) => `\n  ${path}: ${message}`,
		);
		super(
			`${code}: ${detail}${fields.join("")} (HTTP ${status}, X-Request-Id ${requestId || "unknown"})`,
		);
		this.status = status;
		this.code = code;
		this.detail = detail;
		this.details = details;
		this.requestId = requestId;
	}
}

/** The API did not answer, or had no time, for as long as the client retries. */
export class ApiUnavailable extends TidemillError {}
