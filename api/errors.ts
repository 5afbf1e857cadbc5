import { ApiError } from "../kube/client/client.ts";
import { TransportError } from "../kube/client/errors.ts";

/** Every code that an answer of the API can have, with its HTTP status and what to do. */
export const errorCodes = {
	InvalidRequest: {
		status: 400,
		advice: "Correct the fields that `details` names; it names all of them.",
	},
	AccountRequired: {
		status: 400,
		advice:
			"Name the account in `Tidemill-Account`, since the token isn't of a service account.",
	},
	Unauthorized: {
		status: 401,
		advice:
			"Present a token that is valid: `kubectl create token`. One of an OpenID Connect issuer is not known either for some seconds after the apiserver's start, until it has read the issuer's keys.",
	},
	Forbidden: {
		status: 403,
		advice:
			"Have somebody bind a role that permits it, such as `tidemill-editor`.",
	},
	NotFound: { status: 404, advice: "Check the name and the account." },
	MethodNotAllowed: {
		status: 405,
		advice: "Use a method that the header `Allow` names.",
	},
	NotAcceptable: {
		status: 406,
		advice: "Leave `Accept` out, or allow the type that the message names.",
	},
	Conflict: {
		status: 409,
		advice: "Read what is there now, as the message says, and decide anew.",
	},
	CursorExpired: {
		status: 410,
		advice: "Ask for the list again from its first page.",
	},
	PreconditionFailed: {
		status: 412,
		advice: "Get the resource again, and change what you find then.",
	},
	TooLarge: { status: 413, advice: "Send at most 1 MiB." },
	UnsupportedContentType: {
		status: 415,
		advice: "Send JSON, and say so in `Content-Type`.",
	},
	RateLimited: {
		status: 429,
		advice: "Wait for as many seconds as `Retry-After` says.",
	},
	Internal: {
		status: 500,
		advice: "Give `X-Request-Id` to who runs Tidemill: it is in the log.",
	},
	Unavailable: {
		status: 503,
		advice:
			"Send the request again after `Retry-After`; a POST with an `Idempotency-Key`, so that it can't be done twice.",
	},
} as const satisfies Record<string, { status: number; advice: string }>;

export type ErrorCode = keyof typeof errorCodes;

/** What is wrong with one field of the request. */
export interface ErrorDetail {
	/** As in the request's body, such as `dates.start`; the name of a query parameter or header otherwise. */
	path: string;
	message: string;
}

/** An answer that isn't what was asked for. The message says what to do next. */
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
		super(message);
		this.code = code;
		this.details = details;
		this.headers = headers;
	}

	get status(): number {
		return errorCodes[this.code].status;
	}

	/** The body that receive's errors have as well. */
	toJSON() {
		const { code, message, details } = this;
		return { is_success: false, error: { code, message, details } };
	}
}

/** The 401 of a request without a token, or with one that the apiserver doesn't accept (RFC 6750 §3). */
export function unauthorized(problem: "missing" | "invalid"): RequestError {
	const challenge = 'Bearer realm="tidemill"';
	return problem === "missing"
		? new RequestError(
				"Unauthorized",
				"Present a Kubernetes token as Authorization: Bearer. Make one with: kubectl create token <service account>",
				{ headers: { "www-authenticate": challenge } },
			)
		: new RequestError(
				"Unauthorized",
				"The token is not one of this cluster, or it has expired. Make another with: kubectl create token <service account>",
				{
					headers: {
						"www-authenticate": `${challenge}, error="invalid_token"`,
					},
				},
			);
}

/** What the caller is told about anything that was thrown. Only errors of ours and the apiserver's are shown. */
export function requestErrorOf(error: unknown): RequestError {
	if (error instanceof RequestError) return error;
	if (error instanceof ApiError) return ofApiserver(error);
	if (error instanceof TransportError) return unavailable();
	return ofFastify(error) ?? internal();
}

function ofApiserver(error: ApiError): RequestError {
	switch (error.status) {
		case 400:
		case 422:
			return invalid(error);
		case 401:
			return unauthorized("invalid");
		case 403:
			return new RequestError("Forbidden", error.message);
		case 404:
			return new RequestError("NotFound", error.message);
		case 409:
			return new RequestError("Conflict", error.message);
		case 410:
			return new RequestError(
				"CursorExpired",
				"The list has changed too much since its first page. Ask again without cursor.",
			);
		case 429:
		case 503:
		case 504:
			return unavailable();
		default:
			return internal();
	}
}

/** What the apiserver alone can judge: the CRDs' rules in CEL. */
function invalid(error: ApiError): RequestError {
	const details = causesOf(error.details);
	return details.length === 0
		? new RequestError("InvalidRequest", error.message)
		: new RequestError(
				"InvalidRequest",
				"Not all of this can be so. Correct the fields in details.",
				{ details },
			);
}

/** The apiserver's own remark beside errors of the schema: no field is to blame. */
const unchecked = "some validation rules were not checked";

/** metav1.StatusDetails; the apiserver names the root of an object "<nil>", and repeats the value in front. */
function causesOf(details: unknown): ErrorDetail[] {
	const { causes = [] } = (details ?? {}) as {
		causes?: { field?: string; message?: string }[];
	};
	return causes
		.filter(({ message = "" }) => !message.includes(unchecked))
		.map(({ field = "", message = "" }) => ({
			path: field === "<nil>" ? "" : flatPath(field),
			message: message
				.replace(/^Invalid value: ("object": |"array": )?/, "")
				.replace(/^Required value.*/, "is required"),
		}));
}

/** The API has the fields of spec and metadata on one level. */
export function flatPath(path: string): string {
	return path.replace(/^(spec|metadata)(\.|$)/, "");
}

/** Errors of the requests themselves, before a handler sees them. */
function ofFastify(error: unknown): RequestError | undefined {
	switch ((error as { statusCode?: number }).statusCode) {
		case 400:
			return new RequestError(
				"InvalidRequest",
				"The request can't be read. Its body must be a JSON object.",
			);
		case 413:
			return new RequestError(
				"TooLarge",
				"The body is too large. It must have at most 1 MiB.",
			);
		case 415:
			return new RequestError(
				"UnsupportedContentType",
				"The Content-Type must be application/json.",
			);
		default:
			return undefined;
	}
}

/** The 503 of an apiserver that is away, or not ready. */
export function unavailable(): RequestError {
	return new RequestError(
		"Unavailable",
		"The Kubernetes API doesn't answer. Send the request again.",
		{ headers: { "retry-after": "2" } },
	);
}

function internal(): RequestError {
	return new RequestError(
		"Internal",
		"Something failed here. Give X-Request-Id of this answer to who runs Tidemill.",
	);
}
