import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import {
	parameterField,
	type Route,
	type UnavailableAuthorization,
} from "../../../packages/contracts/route.ts";
import { maxEventBodyBytes } from "../../wire/frame.ts";
import type { ContentKind } from "../../wire/frame-event.ts";
import { encodingOf } from "../text/charset.ts";
import { parametersOf } from "../text/multipart.ts";
import type { WebhookAddress } from "./address.ts";
import { type ContentEncoding, contentEncoding } from "./content-encoding.ts";
import { answerPreflight } from "./cors.ts";
import { isAuthorized, presentedTokens } from "./credentials.ts";
import type {
	PresentedSignature,
	SignatureInBody,
} from "./presented-signature.ts";
import {
	because,
	bodyTooLarge,
	methodNotAllowed,
	type RequestRefusal,
	refusals,
} from "./refusal.ts";
import type { ChallengeAnswer } from "./reply.ts";
import type { FoundSource, ServedRoute } from "./route-table.ts";
import { timely } from "./signature-check.ts";
import { missingSignature, untimelySignature } from "./signature-fault.ts";
import { readSignature } from "./signature-schemes.ts";
import { allowedMethods, answerChallenge } from "./url-challenge.ts";
import { type PresentedToken, tokenIn } from "./web-token.ts";

/** The head of a request whose body may be read. */
export interface AcceptedHead {
	route: ServedRoute;
	/** The signature to check against the body; undefined for a Source without signatures. */
	signature:
		| PresentedSignature
		| SignatureInBody
		| PresentedToken
		| "SNS"
		| undefined;
	kind: ContentKind;
	/** How a form is written; absent for JSON. */
	form?: FormType | undefined;
	encoding: ContentEncoding | undefined;
	/** The captured headers and query parameters as a JSON object; empty when there are none. */
	headers: string;
	/** Everything after the URL's question mark. */
	query: string | undefined;
	/** Applies to the body as sent and again after decompression. */
	maxBodyBytes: number;
}

/** How a form is written. */
export interface FormType {
	/** The charset that its type names, as the Encoding standard calls it; absent if it names none. */
	encoding?: string;
	/** Absent for application/x-www-form-urlencoded; without a boundary for what can't be read. */
	multipart?: { boundary?: string };
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
	const form = formType(headers["content-type"]);
	if (form && "status" in form) return form;
	const maxBodyBytes = Math.min(route.maxBodyBytes, maxEventBodyBytes);
	if (Number(headers["content-length"]) > maxBodyBytes)
		return bodyTooLarge(maxBodyBytes);
	return {
		route,
		signature,
		kind: form ? "form" : "json",
		form,
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
	if (authorization.type === "JWT") return tokenIn(authorization, headers);
	if (authorization.type === "Unavailable")
		return awaitSecret(route, headers, address);
	if (authorization.type === "CustomToken" && !route.tokenDigest)
		return refusals.KeyUnavailable;
	if (authorization.type !== "Signature")
		return isAuthorized(route, headers, address.token)
			? undefined
			: unauthorized(headers, address.token);
	if (!route.signingKeys) return refusals.KeyUnavailable;
	const { toleranceSeconds } = authorization;
	const presented = readSignature(authorization, headers, address);
	if (!presented) return missingSignature(authorization, headers);
	if ("read" in presented) return presented;
	return (
		timely(presented, toleranceSeconds, nowMs) ??
		untimelySignature(presented, authorization, nowMs)
	);
}

function unauthorized(
	headers: IncomingHttpHeaders,
	queryToken: string | undefined,
): RequestRefusal {
	const isSent = presentedTokens(headers, queryToken).length > 0;
	const isOther = headers.authorization !== undefined;
	return because(
		refusals.Unauthorized,
		isSent
			? "The token is not this source's."
			: `The request has no token${isOther ? ": its header Authorization has no Bearer" : ""}.`,
	);
}

/**
 * Nobody can be checked while the Source's Secret is missing. Who sends what would be checked is asked to send again later: the
 * fault isn't theirs, and providers give up after a 401.
 */
function awaitSecret(
	route: ServedRoute,
	headers: IncomingHttpHeaders,
	address: WebhookAddress,
): SignatureInBody | RequestRefusal {
	const { awaits } = route;
	if (awaits?.type !== "Signature")
		return awaits && presentedTokens(headers, address.token).length > 0
			? secretUnavailable(route)
			: unauthorized(headers, undefined);
	const presented = readSignature(awaits, headers, address);
	if (!presented) return missingSignature(awaits, headers);
	return "read" in presented ? presented : secretUnavailable(route);
}

/** Refuses what can't be checked for want of the Source's Secret. */
export function secretUnavailable({
	authorization,
}: Pick<ServedRoute, "authorization">): RequestRefusal {
	const { cause = "" } = authorization as UnavailableAuthorization;
	return because(refusals.SecretUnavailable, cause);
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
 * Reads a Content-Type header; undefined unless it names a form. A body of any other type, or of none, may be JSON: Amazon
 * SNS sends JSON as text/plain. In JSON a charset has no effect (RFC 8259 §11).
 */
export function formType(
	contentType = "",
): FormType | RequestRefusal | undefined {
	// Nearly every webhook sends exactly this.
	if (contentType === "application/json") return undefined;
	const type = contentType.split(";", 1)[0]!.trim().toLowerCase();
	const isMultipart = type.startsWith("multipart/");
	if (!isMultipart && type !== "application/x-www-form-urlencoded")
		return undefined;
	const parameters = parametersOf(contentType);
	// Some senders write single quotes, which aren't RFC 9110's, or nothing.
	const charset = parameters.get("charset")?.replace(/^'(.*)'$/, "$1");
	const encoding = charset ? encodingOf(charset) : undefined;
	if (charset && encoding === undefined) return refusals.UnsupportedCharset;
	const boundary =
		type === "multipart/form-data" ? parameters.get("boundary") : undefined;
	return {
		...(encoding !== undefined && { encoding }),
		...(isMultipart && { multipart: boundary ? { boundary } : {} }),
	};
}
