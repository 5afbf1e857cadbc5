/** A request that isn't stored, and what its sender gets to read. */
export interface Refusal {
	status: number;
	code: string;
	/** What is wrong and what to do about it. */
	message: string;
	/** Response headers beyond those of every answer. */
	headers: readonly string[];
}

/**
 * Every way in which receive refuses a request (design §4). There is no 429: senders need no throttling.
 * A 503 may be sent again at any time: an event answered 503 may have been stored, one answered 200 always is.
 */
export const refusals = {
	BadRequest: refusal(
		400,
		"BadRequest",
		"This is not an HTTP/1.1 request that can be read. Send a well-formed one.",
	),
	UnsupportedContentType: refusal(
		400,
		"UnsupportedContentType",
		"The Content-Type must be application/json, a type that ends in +json, or application/x-www-form-urlencoded. Set it to what the body is.",
	),
	UnsupportedCharset: refusal(
		400,
		"UnsupportedCharset",
		"The charset must be utf-8. Encode the body as UTF-8 and say so, or leave charset out.",
	),
	InvalidCompression: refusal(
		400,
		"InvalidCompression",
		"The body is not what its Content-Encoding says, or is cut off. Send it whole, or uncompressed.",
	),
	EmptyBody: refusal(
		400,
		"EmptyBody",
		"The body is empty. Send one JSON value or a form.",
	),
	InvalidEncoding: refusal(
		400,
		"InvalidEncoding",
		"The body is not valid UTF-8. Encode it as UTF-8.",
	),
	InvalidJSON: refusal(
		400,
		"InvalidJSON",
		"The body is not one JSON value (RFC 8259, without a byte order mark). Send valid JSON.",
	),
	Unauthorized: refusal(
		401,
		"Unauthorized",
		"The token is missing or wrong. Present it as Authorization: Bearer, as X-Webhook-Token, or as ?token=.",
		["www-authenticate", 'Bearer realm="tidemill"'],
	),
	SignatureInvalid: refusal(
		401,
		"SignatureInvalid",
		"The signature is missing, wrong, or of a time too far from now. Sign the body as it is sent with this source's secret, by a clock that is right.",
		["www-authenticate", 'Signature realm="tidemill"'],
	),
	SourceSuspended: refusal(
		403,
		"SourceSuspended",
		"This source is suspended and takes no events. Set spec.suspend to false.",
	),
	UnknownURL: refusal(
		404,
		"UnknownURL",
		"No source has this URL. Copy it again from the source's status.webhookURL.",
	),
	MethodNotAllowed: refusal(
		405,
		"MethodNotAllowed",
		"Events are sent with POST.",
	),
	RequestTimeout: refusal(
		408,
		"RequestTimeout",
		"The request took too long to arrive. Send it again, whole.",
	),
	BodyTooLarge: refusal(
		413,
		"BodyTooLarge",
		"The body is larger than this source takes. Send less, or raise spec.webhook.maxBodyBytes.",
	),
	UnsupportedContentEncoding: refusal(
		415,
		"UnsupportedContentEncoding",
		"The Content-Encoding is not known here. Compress the body once with gzip, deflate, br or zstd, or not at all.",
		["accept-encoding", "gzip, deflate, br, zstd, identity"],
	),
	HeadersTooLarge: refusal(
		431,
		"HeadersTooLarge",
		"The request's headers are larger than 16 KiB. Send fewer.",
	),
	Overloaded: refusal(
		503,
		"Overloaded",
		"Too much is in flight here. Send the event again.",
		["retry-after", "1"],
	),
	StorageUnavailable: refusal(
		503,
		"StorageUnavailable",
		"The event could not be stored, or not in time to tell. Send it again.",
		["retry-after", "2"],
	),
	KeyInUse: refusal(
		503,
		"KeyInUse",
		"A request with this idempotency key came before, and it isn't known yet whether its event is stored. Send it again.",
		["retry-after", "5"],
	),
	TooManyKeys: refusal(
		503,
		"TooManyKeys",
		"No more idempotency keys can be kept until earlier ones expire. Send the event again later; shorten spec.webhook.idempotency.windowSeconds, or raise archive's IDEMPOTENCY_MAX_KEYS.",
		["retry-after", "60"],
	),
	KeyUnavailable: refusal(
		503,
		"KeyUnavailable",
		"This receiver can't open the source's signing secrets: operator and receive need the same TIDEMILL_SEAL_KEY. Send the event again.",
		["retry-after", "2"],
	),
	NotReady: refusal(
		503,
		"NotReady",
		"This receiver doesn't know all sources yet. Send the event again.",
		["retry-after", "2"],
	),
} as const satisfies Record<string, Refusal>;

const byAllowed = new Map<string, Refusal>();

/** The refusal of a method, with the ones that the URL takes: `POST, GET, HEAD`. The same object for the same ones. */
export function methodNotAllowed(allowed: string): Refusal {
	let refusal = byAllowed.get(allowed);
	if (!refusal) {
		refusal = { ...refusals.MethodNotAllowed, headers: ["allow", allowed] };
		byAllowed.set(allowed, refusal);
	}
	return refusal;
}

function refusal(
	status: number,
	code: string,
	message: string,
	headers: readonly string[] = [],
): Refusal {
	return { status, code, message, headers };
}
