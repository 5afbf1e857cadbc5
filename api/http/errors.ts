import { ApiError } from "../../kube/client/client.ts";
import { TransportError } from "../../kube/client/errors.ts";

/** What a person reads at once. A body with an error in every third byte must not make a long answer. */
export const maxDetails = 50;
const maxMessageLength = 2_000;
const maxDetailLength = 500;

/** Every error code of the API, with its HTTP status and what to do. */
export const errorCodes = {
	InvalidRequest: {
		status: 400,
		advice: `Correct the fields listed in \`details\`. It lists all of them, ${maxDetails} at most.`,
	},
	AccountRequired: {
		status: 400,
		advice:
			"Name the account in the header `Tidemill-Account`. Only a service account's token implies one.",
	},
	Unauthorized: {
		status: 401,
		advice:
			"Send a valid token: `kubectl create token`. For some seconds after its start, the apiserver also refuses OpenID Connect tokens, until it has read the issuer's keys.",
	},
	Forbidden: {
		status: 403,
		advice:
			"Ask an administrator to bind a role that permits it, such as `tidemill-editor`, or `tidemill-log-reader` for the log and the progress of a run.",
	},
	NotFound: { status: 404, advice: "Check the name and the account." },
	MethodNotAllowed: {
		status: 405,
		advice: "Use a method listed in the header `Allow`.",
	},
	NotAcceptable: {
		status: 406,
		advice: "Omit `Accept`, or include the type that the message names.",
	},
	RequestTimeout: {
		status: 408,
		advice: "Send the whole request within 30 seconds.",
	},
	Conflict: {
		status: 409,
		advice: "Follow the message. Fetch the current state before you retry.",
	},
	CursorExpired: {
		status: 410,
		advice: "List again from the first page.",
	},
	PreconditionFailed: {
		status: 412,
		advice: "Fetch the resource and retry the change.",
	},
	TooLarge: { status: 413, advice: "Send at most 1 MiB." },
	UnsupportedContentType: {
		status: 415,
		advice: "Send JSON with `Content-Type: application/json`.",
	},
	RateLimited: {
		status: 429,
		advice: "Wait for the seconds in `Retry-After`.",
	},
	HeadersTooLarge: {
		status: 431,
		advice: "Send headers of at most 16 KiB together.",
	},
	Internal: {
		status: 500,
		advice:
			"Give the `X-Request-Id` to your Tidemill administrator. The log has the cause.",
	},
	Unavailable: {
		status: 503,
		advice:
			"Retry after the seconds in `Retry-After`. For a POST, use an `Idempotency-Key`, so that a repeat has no second effect.",
	},
} as const satisfies Record<string, { status: number; advice: string }>;

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

	/** The same body as that of an error of receive. */
	toJSON() {
		const { code, message, details } = this;
		return { is_success: false, error: { code, message, details } };
	}
}

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

/** The response to anything thrown. Callers see details only of our own errors and the apiserver's. */
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
				"The cursor has expired. List again without it.",
			);
		case 429:
		case 503:
		case 504:
			return unavailable();
		default:
			return internal();
	}
}

/** For the CRDs' CEL rules, which only the apiserver evaluates. */
function invalid(error: ApiError): RequestError {
	const details = causesOf(error.details);
	return details.length === 0
		? new RequestError("InvalidRequest", error.message)
		: new RequestError(
				"InvalidRequest",
				"The request is invalid. Correct the fields in details.",
				{ details },
			);
}

/** A remark of the apiserver beside schema errors. It concerns no field. */
const unchecked = "some validation rules were not checked";

/** From metav1.StatusDetails. The apiserver calls the root of an object "<nil>" and puts the value before the message. */
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

/** The API has the fields of spec and metadata at one level. */
export function flatPath(path: string): string {
	return path.replace(/^(spec|metadata)(\.|$)/, "");
}

/** For requests that fastify refuses before they reach a handler. */
function ofFastify(error: unknown): RequestError | undefined {
	switch ((error as { statusCode?: number }).statusCode) {
		case 400:
			return new RequestError(
				"InvalidRequest",
				"The request can't be parsed. Its body must be a JSON object.",
			);
		case 413:
			return new RequestError(
				"TooLarge",
				"The body is too large. At most 1 MiB is allowed.",
			);
		case 415:
			return new RequestError(
				"UnsupportedContentType",
				"Content-Type must be application/json.",
			);
		default:
			return undefined;
	}
}

/** 503 for an apiserver that is away or not ready. */
export function unavailable(): RequestError {
	return new RequestError(
		"Unavailable",
		"The Kubernetes API does not answer. Retry the request.",
		{ headers: { "retry-after": "2" } },
	);
}

function internal(): RequestError {
	return new RequestError(
		"Internal",
		"Internal error. Give the X-Request-Id of this response to your Tidemill administrator.",
	);
}
