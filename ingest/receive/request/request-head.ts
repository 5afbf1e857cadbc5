import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import {
	parameterField,
	type Route,
} from "../../../packages/contracts/route.ts";
import { maxEventBodyBytes } from "../../wire/frame.ts";
import type { ContentKind } from "../../wire/frame-event.ts";
import type { WebhookAddress } from "./address.ts";
import { type ContentEncoding, contentEncoding } from "./content-encoding.ts";
import { answerPreflight } from "./cors.ts";
import { isAuthorized } from "./credentials.ts";
import type {
	PresentedSignature,
	SignatureInBody,
} from "./presented-signature.ts";
import { methodNotAllowed, type RequestRefusal, refusals } from "./refusal.ts";
import type { ChallengeAnswer } from "./reply.ts";
import type { FoundSource, ServedRoute } from "./route-table.ts";
import { isTimely } from "./signature-check.ts";
import { readSignature } from "./signature-schemes.ts";
import { allowedMethods, answerChallenge } from "./url-challenge.ts";

/** The head of a request whose body may be read. */
export interface AcceptedHead {
	route: ServedRoute;
	/** The signature to check against the body; undefined for a Source without signatures. */
	signature: PresentedSignature | SignatureInBody | "SNS" | undefined;
	kind: ContentKind;
	encoding: ContentEncoding | undefined;
	/** The captured headers and query parameters as a JSON object; empty when there are none. */
	headers: string;
	/** Everything after the URL's question mark. */
	query: string | undefined;
	/** Applies to the body as sent and again after decompression. */
	maxBodyBytes: number;
}

/**
 * Validates the request line and headers. Authorization comes first, so that a refusal tells an unauthorized sender nothing
 * about the Source; only what a challenge in the head asks for is answered before it. A refusal for suspension waits for the body when only its signature can authorize the sender.
 */
export function validateHead(
	{ route, address }: FoundSource,
	method: string,
	headers: IncomingHttpHeaders,
	nowMs: number,
): AcceptedHead | ChallengeAnswer | RequestRefusal {
	if (method === "OPTIONS" && route.cors) {
		// A browser presents no credentials with it.
		const answer = answerPreflight(route.cors, headers);
		if (answer) return answer;
	}
	const { query } = address;
	const challenge =
		route.verification && answerChallenge(route, { method, headers, query });
	if (challenge) return challenge;
	if (method !== "POST") return methodNotAllowed(allowedMethods(route));
	const signature = authorize(route, headers, address, nowMs);
	if (typeof signature === "object" && "status" in signature) return signature;
	if (route.suspended && !signature) return refusals.SourceSuspended;

	const encoding = contentEncoding(headers["content-encoding"]);
	if (typeof encoding === "object") return encoding;
	const kind = contentKind(headers["content-type"]);
	if (typeof kind !== "string") return kind;
	const maxBodyBytes = Math.min(route.maxBodyBytes, maxEventBodyBytes);
	if (Number(headers["content-length"]) > maxBodyBytes)
		return refusals.BodyTooLarge;
	return {
		route,
		signature,
		kind,
		encoding,
		headers: capturedFields(route, headers, query),
		query,
		maxBodyBytes,
	};
}

/** Returns the signature to check against the body; undefined when the head alone authorizes. */
function authorize(
	route: ServedRoute,
	headers: IncomingHttpHeaders,
	address: WebhookAddress,
	nowMs: number,
): AcceptedHead["signature"] | RequestRefusal {
	const { authorization } = route;
	if (authorization.type === "AmazonSNS") return "SNS";
	if (authorization.type === "CustomToken" && !route.tokenDigest)
		return refusals.KeyUnavailable;
	if (authorization.type !== "Signature")
		return isAuthorized(route, headers, address.token)
			? undefined
			: refusals.Unauthorized;
	if (!route.signingKeys) return refusals.KeyUnavailable;
	const presented = readSignature(authorization, headers, address);
	const isGood =
		presented &&
		("read" in presented ||
			isTimely(presented, authorization.toleranceSeconds, nowMs));
	return isGood ? presented : refusals.SignatureInvalid;
}

/**
 * What a Source stores of a request beside its body, as a JSON object: headers, and query parameters by
 * {@link parameterField}. Empty if there is nothing. A request's head has at most 16 KiB, which bounds it.
 */
function capturedFields(
	{
		capturedHeaders,
		capturedParameters,
	}: Pick<Route, "capturedHeaders" | "capturedParameters">,
	headers: IncomingHttpHeaders,
	query: string | undefined,
): string {
	if (capturedHeaders.length === 0 && !capturedParameters) return "";
	const captured = capturedHeaders
		.filter((name) => Object.hasOwn(headers, name))
		.map((name) => [name, readable(String(headers[name]))]);
	if (capturedParameters && query !== undefined) {
		const sent = new URLSearchParams(query);
		for (const name of capturedParameters) {
			const value = sent.get(name);
			if (value !== null) captured.push([parameterField(name), value]);
		}
	}
	return captured.length === 0
		? ""
		: JSON.stringify(Object.fromEntries(captured));
}

/** node:http decodes every value as Latin-1. Senders who go beyond ASCII mostly mean UTF-8 (RFC 9110 §5.5 leaves it open). */
function readable(value: string): string {
	const bytes = Buffer.from(value, "latin1");
	return isUtf8(bytes) ? bytes.toString() : value;
}

/**
 * Reads a Content-Type header. Only a form has a type of its own; a body of any other type, or of none, may be JSON: Amazon
 * SNS sends JSON as text/plain. In JSON a charset has no effect (RFC 8259 §11).
 */
export function contentKind(
	contentType: string | undefined,
): ContentKind | RequestRefusal {
	// Nearly every webhook sends exactly this.
	if (contentType === "application/json") return "json";
	const [type = "", ...parameters] = (contentType ?? "").split(";");
	if (type.trim().toLowerCase() !== "application/x-www-form-urlencoded")
		return "json";
	return parameters.some(isOtherCharset) ? refusals.UnsupportedCharset : "form";
}

function isOtherCharset(parameter: string): boolean {
	const [name = "", value = ""] = parameter.split("=");
	return (
		name.trim().toLowerCase() === "charset" &&
		!/^"?utf-?8"?$/i.test(value.trim())
	);
}
