import type { IncomingHttpHeaders } from "node:http";
import { maxEventBodyBytes } from "../../wire/frame.ts";
import type { ContentKind } from "../../wire/frame-event.ts";
import type { Address } from "./address.ts";
import { capturedFields } from "./captured-fields.ts";
import { type ContentEncoding, contentEncoding } from "./content-encoding.ts";
import { contentKind } from "./content-type.ts";
import { answerPreflight } from "./cors.ts";
import { isAuthorized } from "./credentials.ts";
import {
	type PresentedSignature,
	readSignature,
} from "./presented-signature.ts";
import { methodNotAllowed, type Refusal, refusals } from "./refusal.ts";
import type { ChallengeAnswer } from "./reply.ts";
import type { FoundSource, ServedRoute } from "./route-table.ts";
import { isTimely } from "./signature-check.ts";
import { allowedMethods, answerHeadChallenge } from "./url-challenge.ts";

/** The head of a request whose body may be read. */
export interface AcceptedHead {
	route: ServedRoute;
	/** The signature to check against the body; undefined for a Source without signatures. */
	signature: PresentedSignature | "InBody" | undefined;
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
 * Judges the request line and headers. Authorization comes first, so that a refusal tells an unauthorized sender nothing
 * about the Source. A refusal for suspension waits for the body when only its signature can authorize the sender.
 */
export function judgeHead(
	{ route, address }: FoundSource,
	method: string,
	headers: IncomingHttpHeaders,
	nowMs: number,
): AcceptedHead | ChallengeAnswer | Refusal {
	if (method === "OPTIONS" && route.cors) {
		// A browser presents no credentials with it.
		const answer = answerPreflight(route.cors, headers);
		if (answer) return answer;
	}
	const challenge = answerHeadChallenge(
		route.verification,
		method,
		address.query,
		headers,
	);
	if (method !== "POST")
		return challenge ?? methodNotAllowed(allowedMethods(route));
	const signature = authorize(route, headers, address, nowMs);
	if (typeof signature === "object" && "status" in signature) return signature;
	if (route.suspended && !signature) return refusals.SourceSuspended;
	if (challenge) return challenge;

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
		headers: capturedFields(route, headers, address.query),
		query: address.query,
		maxBodyBytes,
	};
}

/** Returns the signature to check against the body; undefined when the head alone authorizes. */
function authorize(
	route: ServedRoute,
	headers: IncomingHttpHeaders,
	address: Address,
	nowMs: number,
): PresentedSignature | "InBody" | Refusal | undefined {
	const { authorization } = route;
	if (authorization.type === "AmazonSNS") return "InBody";
	if (authorization.type === "CustomToken" && !route.tokenDigest)
		return refusals.KeyUnavailable;
	if (authorization.type !== "Signature")
		return isAuthorized(route, headers, address.token)
			? undefined
			: refusals.Unauthorized;
	if (!route.signingKeys) return refusals.KeyUnavailable;
	const presented = readSignature(authorization, headers, address);
	return presented && isTimely(presented, authorization.toleranceSeconds, nowMs)
		? presented
		: refusals.SignatureInvalid;
}
