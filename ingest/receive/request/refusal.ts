import type { JSONFault } from "../text/json.ts";

/** Why a request isn't stored, as its sender reads it. */
export interface RequestRefusal {
	status: number;
	code: string;
	/** What is wrong and what to do about it. */
	message: string;
	/** Response headers beyond those of every answer. */
	headers: readonly string[];
	/** What exactly is wrong, as a JSON array; absent for nothing more. */
	details?: string;
	/** What exactly is wrong, for people of the account alone: a stranger who sends learns nothing from it. */
	cause?: string;
}

/**
 * Every way in which receive refuses a request. There is no 429: senders need no throttling. A sender may repeat a 503
 * at any time. An event answered 503 may have been stored; one answered 200 always is.
 */
export const refusals = named({
	BadRequest: refusal(
		400,
		"The request is not valid HTTP/1.1. Send a well-formed one.",
	),
	InvalidCompression: refusal(
		400,
		"The body does not match its Content-Encoding, or is incomplete. Send the whole body, or send it uncompressed.",
	),
	EmptyBody: refusal(400, "The body is empty. Send one JSON value or a form."),
	InvalidEncoding: refusal(
		400,
		"The body is not valid UTF-8. Encode it as UTF-8.",
	),
	InvalidJSON: refusal(
		400,
		"The body is not one JSON value (RFC 8259). Send valid JSON, or a form with Content-Type: application/x-www-form-urlencoded.",
	),
	InvalidMultipart: refusal(
		400,
		"The body is not multipart/form-data with the boundary that its Content-Type names (RFC 7578), or is incomplete. Send the whole form, with a name for each part and CRLF at the end of each line.",
	),
	ChallengeInvalid: refusal(
		400,
		"The challenge can't be answered. What an answer is computed from must have 1 to 128 characters of A-Z, a-z, 0-9, _ and -, a header of it only printable ASCII, and all of it at most 4 KiB.",
	),
	BodyLikeChallenge: refusal(
		400,
		"The body is empty or has only up to 128 characters of A-Z, a-z, 0-9, _ and -. This source signs such texts in its answers to challenges, so their signature proves nothing. Send a JSON object.",
	),
	TrackingPlanViolation: refusal(
		400,
		"The event is not as this source's tracking plan says, and the plan rejects it. The details name each violation.",
	),
	Unauthorized: refusal(
		401,
		"The token is missing or wrong. Send it as Authorization: Bearer, as X-Webhook-Token, or as ?token=.",
		["www-authenticate", 'Bearer realm="tidemill"'],
	),
	SignatureInvalid: refusal(
		401,
		"The signature is missing or wrong, or its timestamp is too far from the current time. Sign the exact bytes of the body with this source's secret, and check your clock.",
		["www-authenticate", 'Signature realm="tidemill"'],
	),
	WebTokenInvalid: refusal(
		401,
		"The JSON Web Token is missing or wrong, or has expired. Send one that this source's issuer has signed for its audience.",
		["www-authenticate", 'Bearer realm="tidemill"'],
	),
	SourceSuspended: refusal(
		403,
		"This source is suspended and accepts no events. Set spec.suspend to false.",
	),
	UnknownURL: refusal(
		404,
		"No source has this URL. Copy it again from the source's status.webhookURL.",
	),
	MethodNotAllowed: refusal(
		405,
		"This method is not allowed. Send events with POST.",
	),
	RequestTimeout: refusal(
		408,
		"The request took too long to arrive, or its body came slower than 1 KiB/s. Send it again.",
	),
	BodyTooLarge: refusal(
		413,
		"The body is larger than this source accepts. Send a smaller one, or raise spec.webhook.maxBodyBytes.",
	),
	TooManyFields: refusal(
		413,
		"The form has more than 10,000 fields, or 1,000 as multipart/form-data. Send fewer, or send JSON.",
	),
	CompressionTooHigh: refusal(
		413,
		"The body decompresses to more than 100 times its size. Send it uncompressed.",
	),
	UnsupportedCharset: refusal(
		415,
		"The form isn't text of the charset that it names, or names one that isn't supported. Encode it as UTF-8, or name a single-byte or East Asian charset in the Content-Type or in a field charset or _charset_.",
	),
	UnsupportedMultipart: refusal(
		415,
		"A multipart body is taken only as multipart/form-data with a boundary, and without files, nested parts and transfer encodings. Send the fields alone, or JSON.",
	),
	UnsupportedContentEncoding: refusal(
		415,
		"The Content-Encoding is not supported. Compress the body once with gzip, deflate, br or zstd, or not at all.",
		["accept-encoding", "gzip, deflate, br, zstd, identity"],
	),
	HeadersTooLarge: refusal(
		431,
		"The request headers are larger than 16 KiB. Send fewer or shorter ones.",
	),
	Overloaded: temporary(
		1,
		"This receiver has too many requests in flight. Send the event again.",
	),
	StorageUnavailable: temporary(
		2,
		"The event could not be stored, or not in time to confirm it. Send it again.",
	),
	BacklogFull: temporary(
		10,
		"So many events of this account wait for archive that more would leave other accounts no room. Send the event again later.",
	),
	KeyInUse: temporary(
		5,
		"Whether an earlier request with this idempotency key was stored is not known yet. Send the event again.",
	),
	TooManyKeys: temporary(
		60,
		"Tidemill can't keep more idempotency keys of this account until earlier ones expire. Send the event again later. To keep this from happening, shorten spec.webhook.idempotency.windowSeconds or raise archive's IDEMPOTENCY_MAX_KEYS.",
	),
	KeyUnavailable: temporary(
		2,
		"This receiver can't check the source's tokens or signatures. Give operator and receive the same TIDEMILL_SEAL_KEY, then send the event again.",
	),
	SecretUnavailable: temporary(
		60,
		"The secret that this source checks its senders with is not available now. Send the event again.",
	),
	CertificateUnavailable: temporary(
		20,
		"The certificate of Amazon SNS that checks this message can't be fetched now. Send the message again. If this goes on, see whether notify runs and reaches sns.<region>.amazonaws.com.",
	),
	KeysUnavailable: temporary(
		10,
		"The public key that checks this signature or token can't be fetched now. Send the event again. If this goes on, see whether notify runs and reaches the key's URL, and whether a key of the Source's algorithm is there.",
	),
	ConfirmationFailed: temporary(
		20,
		"The subscription to Amazon SNS can't be confirmed now. Request the confirmation again. If this goes on, see whether notify runs and reaches sns.<region>.amazonaws.com.",
	),
	TrackingPlanUnavailable: temporary(
		2,
		"This source's tracking plan can't validate the event now: it isn't compiled yet, or was never valid. Send the event again. If this goes on, the status of the TrackingPlan says why.",
	),
	QuarantineUnavailable: temporary(
		10,
		"This source's tracking plan keeps the event apart, and an archive of an earlier version is running, which can't read such events. Upgrade every archive, then send the event again.",
	),
	NotReady: temporary(
		2,
		"This receiver hasn't loaded all sources yet. Send the event again.",
	),
});

const byAllowed = new Map<string, RequestRefusal>();

/** Refuses a method. @param allowed the Allow header, such as `POST, GET, HEAD`; equal ones share one Refusal. */
export function methodNotAllowed(allowed: string): RequestRefusal {
	let refusal = byAllowed.get(allowed);
	if (!refusal) {
		refusal = { ...refusals.MethodNotAllowed, headers: ["allow", allowed] };
		byAllowed.set(allowed, refusal);
	}
	return refusal;
}

/** @param cause names fields and headers, never a value that was sent. */
export function because(
	refusal: RequestRefusal,
	cause: string,
): RequestRefusal {
	return { ...refusal, cause };
}

/** What a Source may set as spec.webhook.maxBodyBytes: the CRD's maximum. */
export const largestBodyBytes = 4 * 1024 * 1024;

/** Says how large a body may be. @param maxBodyBytes of the Source. */
export function bodyTooLarge(maxBodyBytes: number): RequestRefusal {
	const most = `${maxBodyBytes.toLocaleString("en")} bytes that this source accepts. Send a smaller one`;
	const more =
		maxBodyBytes < largestBodyBytes
			? `, or raise spec.webhook.maxBodyBytes, to ${largestBodyBytes} at most.`
			: ": no source accepts more.";
	return {
		...refusals.BodyTooLarge,
		message: `The body is larger than the ${most}${more}`,
	};
}

/** Says where the mistake is. It tells what is expected there, not what stands there: bodies need a right of their own. */
export function invalidJSON({
	line,
	column,
	expected,
	isEnd,
}: JSONFault): RequestRefusal {
	const place = `line ${line}, column ${column}: expected ${expected}${isEnd ? ", but the body ends" : ""}`;
	const message = refusals.InvalidJSON.message.replace(
		"(RFC 8259).",
		`(RFC 8259): ${place}.`,
	);
	return { ...refusals.InvalidJSON, message, cause: `${place}.` };
}

/** @param violations as a JSON array. */
export function violationOf(violations: string): RequestRefusal {
	return { ...refusals.TrackingPlanViolation, details: violations };
}

type Uncoded = Omit<RequestRefusal, "code">;

function refusal(
	status: number,
	message: string,
	headers: readonly string[] = [],
): Uncoded {
	return { status, message, headers };
}

/** @param seconds after which the sender may try again. */
function temporary(seconds: number, message: string): Uncoded {
	return refusal(503, message, ["retry-after", String(seconds)]);
}

/** A refusal's code is its name. */
function named<Name extends string>(
	all: Record<Name, Uncoded>,
): Record<Name, RequestRefusal> {
	const coded = Object.entries<Uncoded>(all).map(([code, each]) => [
		code,
		{ ...each, code },
	]);
	return Object.fromEntries(coded);
}
