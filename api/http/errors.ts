/** What a person reads at once. A body with an error in every third byte must not make a long answer. */
export const maxDetails = 50;
const maxMessageLength = 2_000;
const maxDetailLength = 500;

/** Every error code of the API, with its HTTP status and what to do. */
export const errorCodes = {
	InvalidRequest: {
		title: "The request is invalid",
		status: 400,
		advice: `Correct the fields listed in \`details\`. It lists all of them, ${maxDetails} at most. Rules between fields are checked once each field is right by itself, so what they find may come second.`,
	},
	AccountRequired: {
		title: "The account is missing",
		status: 400,
		advice:
			"Name the account in the header `Tidemill-Account`. Only a service account's token implies one.",
	},
	Unauthorized: {
		title: "The token is missing or invalid",
		status: 401,
		advice:
			"Send a valid token: `kubectl create token`. For some seconds after its start, the apiserver also refuses OpenID Connect tokens, until it has read the issuer's keys.",
	},
	Forbidden: {
		title: "A right is missing",
		status: 403,
		advice:
			"Ask an administrator to bind a role that permits it, such as `tidemill-editor`, or `tidemill-log-reader` for the log and the progress of a run.",
	},
	NotFound: {
		title: "Not found",
		status: 404,
		advice: "Check the name and the account.",
	},
	MethodNotAllowed: {
		title: "Method not allowed",
		status: 405,
		advice: "Use a method listed in the header `Allow`.",
	},
	NotAcceptable: {
		title: "No acceptable content type",
		status: 406,
		advice: "Omit `Accept`, or include the type that the message names.",
	},
	RequestTimeout: {
		title: "The request took too long",
		status: 408,
		advice: "Send the whole request within 30 seconds.",
	},
	Conflict: {
		title: "In conflict with the current state",
		status: 409,
		advice: "Follow the message. Fetch the current state before you retry.",
	},
	InUse: {
		title: "The resource is used by others",
		status: 409,
		advice:
			"Delete or change the resources that the message names, or repeat the request with `?force=true`.",
	},
	PipelineNotReady: {
		title: "The pipeline can't run",
		status: 409,
		advice:
			"Correct what the message names. With `?queue=true` the run is accepted and waits until the pipeline can run.",
	},
	CursorExpired: {
		title: "The cursor has expired",
		status: 410,
		advice: "List again from the first page.",
	},
	PreconditionFailed: {
		title: "The resource changed",
		status: 412,
		advice: "Fetch the resource and retry the change.",
	},
	TooLarge: {
		title: "The body is too large",
		status: 413,
		advice: "Send at most 1 MiB.",
	},
	UnsupportedContentType: {
		title: "Unsupported content type",
		status: 415,
		advice: "Send JSON with `Content-Type: application/json`.",
	},
	RateLimited: {
		title: "Too many requests",
		status: 429,
		advice: "Wait for the seconds in `Retry-After`.",
	},
	HeadersTooLarge: {
		title: "The headers are too large",
		status: 431,
		advice: "Send headers of at most 16 KiB together.",
	},
	Internal: {
		title: "Internal error",
		status: 500,
		advice:
			"Give the `X-Request-Id` to your Tidemill administrator. The log has the cause.",
	},
	Unavailable: {
		title: "Temporarily unavailable",
		status: 503,
		advice:
			"Retry after the seconds in `Retry-After`. For a POST, use an `Idempotency-Key`, so that a repeat has no second effect. Only a test event is sent again.",
	},
} as const satisfies Record<
	string,
	{ status: number; title: string; advice: string }
>;

export type ErrorCode = keyof typeof errorCodes;

/** What is wrong with one field of the request. */
export interface ErrorDetail {
	/** A field of the body, such as `dates.start`, or the name of a query parameter or header. */
	path: string;
	message: string;
}

/** An error response of bounded size. The message says what to do next. */
export class RequestError extends Error {
	override name = "RequestError";
	readonly code: ErrorCode;
	readonly details: ErrorDetail[];
	readonly headers: Record<string, string>;

	constructor(
		code: ErrorCode,
		message: string,
		{
			details = [],
			headers = {},
		}: { details?: ErrorDetail[]; headers?: Record<string, string> } = {},
	) {
		const isCut = details.length > maxDetails;
		super(
			shortened(
				isCut
					? `${message} They are the first ${maxDetails}; there are more.`
					: message,
				maxMessageLength,
			),
		);
		this.code = code;
		this.details = details.slice(0, maxDetails).map(({ path, message }) => ({
			path: shortened(path, maxDetailLength),
			message: shortened(message, maxDetailLength),
		}));
		this.headers = headers;
	}

	get status(): number {
		return errorCodes[this.code].status;
	}

	/** The body of the answer: problem details (RFC 9457 §3), and beside them our code and the wrong fields. */
	problem(requestId?: string) {
		const { code, status, message, details } = this;
		return {
			type: `/docs#${code}`,
			title: errorCodes[code].title,
			status,
			detail: message,
			...(requestId && { instance: `urn:uuid:${requestId}` }),
			code,
			details,
		};
	}
}

export const problemType = "application/problem+json";

function shortened(text: string, maxLength: number): string {
	return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}

/** 400 for one wrong query parameter or header. @param problem continues its name, such as "must be a number". */
export function invalidParameter(
	name: string,
	problem: string,
	value: string,
): RequestError {
	const message = `${problem}, not ${JSON.stringify(shortened(value, 100))}`;
	return new RequestError("InvalidRequest", `${name} ${message}.`, {
		details: [{ path: name, message }],
	});
}

/** 400 for what has wrong fields. */
export function invalidFields(
	noun: string,
	details: ErrorDetail[],
): RequestError {
	return new RequestError(
		"InvalidRequest",
		`The ${noun} is invalid. Correct the fields in details.`,
		{ details },
	);
}

/** 401 for a missing token or one that the apiserver refuses (RFC 6750 §3). */
export function unauthorized(problem: "missing" | "invalid"): RequestError {
	const challenge = 'Bearer realm="tidemill"';
	return problem === "missing"
		? new RequestError(
				"Unauthorized",
				"Send a Kubernetes token in the header Authorization: Bearer <token>. Create one with: kubectl create token <service account>",
				{ headers: { "www-authenticate": challenge } },
			)
		: new RequestError(
				"Unauthorized",
				"The token is invalid or has expired. Create another with: kubectl create token <service account>",
				{
					headers: {
						"www-authenticate": `${challenge}, error="invalid_token"`,
					},
				},
			);
}

/** The API has the fields of spec and metadata at one level. */
export function flatPath(path: string): string {
	return path.replace(/^(spec|metadata)(\.|$)/, "");
}

/**
 * 503 for an apiserver that is away or not ready.
 * @param words What it said of a write that it could not check, without addresses.
 */
export function unavailable(words?: string): RequestError {
	return new RequestError(
		"Unavailable",
		words === undefined
			? "The Kubernetes API does not answer. Retry the request."
			: `The cluster can't carry this out now: ${words.replace(/[.\s]*$/, ".")} Retry the request, or ask an administrator.`,
		{ headers: { "retry-after": "2" } },
	);
}

export function internal(): RequestError {
	return new RequestError(
		"Internal",
		"Internal error. Give the X-Request-Id of this response to your Tidemill administrator.",
	);
}
