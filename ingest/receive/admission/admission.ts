import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import type { Route } from "../../../contracts/route.ts";
import type { ContentKind } from "../../wire/frame.ts";
import { contentKind, maxEventBodyBytes } from "../accept/content.ts";
import {
	type ContentEncoding,
	contentEncoding,
} from "../accept/content-encoding.ts";
import { readClaim, type SignatureClaim } from "../accept/signature/scheme.ts";
import { isSigned, isTimely } from "../accept/signature/verification.ts";
import { methodNotAllowed, type Refusal, refusals } from "../refusal.ts";
import { hasUrlKey, isAuthorized, parseAddress } from "../url/address.ts";
import type {
	Destination,
	RouteTable,
	ServedRoute,
} from "../url/route-table.ts";
import {
	allowedMethods,
	type Greeting,
	greetByHead,
} from "../url/url-challenge.ts";

/** A request whose body is welcome. */
export interface Admission {
	route: ServedRoute;
	/** What the body must be shown to be signed by; undefined for a source without signatures. */
	signature: SignatureClaim | undefined;
	kind: ContentKind;
	encoding: ContentEncoding | undefined;
	/** The captured headers as a JSON object; empty when there are none. */
	headers: string;
	/** As it is sent, and after decompression. */
	maxBodyBytes: number;
}

/** Finds the source that a request is for. Who doesn't show its url key isn't told that there is one. */
export function findSource(
	target: string,
	routes: Pick<RouteTable, "find" | "isSynced" | "remember" | "remembered">,
): Destination | Refusal {
	const remembered = routes.remembered(target);
	if (remembered) return remembered;
	const address = parseAddress(target);
	if (!address) return refusals.UnknownURL;
	const route = routes.find(address.sourceKey);
	if (!route || !hasUrlKey(route, address.urlKey))
		return routes.isSynced ? refusals.UnknownURL : refusals.NotReady;
	const destination = { route, address };
	// A query may differ from event to event, and hold a token.
	if (address.query === undefined) routes.remember(target, destination);
	return destination;
}

/** Decides by request line and headers alone. What is told depends on nothing that the sender hasn't shown a key to. */
export function admit(
	{ route, address }: Destination,
	method: string,
	headers: IncomingHttpHeaders,
	nowMs: number,
): Admission | Greeting | Refusal {
	const { query } = address;
	const greeting = greetByHead(route, { method, query, headers });
	if (method !== "POST")
		return greeting ?? methodNotAllowed(allowedMethods(route));
	const signature = authorize(route, headers, address.token, nowMs);
	if (signature && "status" in signature) return signature;
	if (route.suspended && !signature) return refusals.SourceSuspended;

	if (greeting) return greeting;

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
		headers: capture(route, headers),
		maxBodyBytes,
	};
}

/** Decides by the body, as it was sent, what the head alone couldn't; undefined when the request is welcome. */
export function refuseByBody(
	{ route, signature }: Admission,
	body: Buffer,
): Refusal | undefined {
	if (!signature) return undefined;
	if (!isSigned(signature, route.signingKeys!, body))
		return refusals.SignatureInvalid;
	return route.suspended ? refusals.SourceSuspended : undefined;
}

/** What the body is yet to be checked against; undefined when the head is enough. */
function authorize(
	route: ServedRoute,
	headers: IncomingHttpHeaders,
	queryToken: string | undefined,
	nowMs: number,
): SignatureClaim | Refusal | undefined {
	const { authorization } = route;
	if (authorization.type !== "Signature")
		return isAuthorized(route, headers, queryToken)
			? undefined
			: refusals.Unauthorized;
	if (!route.signingKeys) return refusals.KeyUnavailable;
	const claim = readClaim(authorization, headers);
	return claim && isTimely(claim, authorization.toleranceSeconds, nowMs)
		? claim
		: refusals.SignatureInvalid;
}

function capture(route: Route, headers: IncomingHttpHeaders): string {
	if (route.capturedHeaders.length === 0) return "";
	const captured = route.capturedHeaders
		.filter((name) => Object.hasOwn(headers, name))
		.map((name) => [name, readable(String(headers[name]))]);
	return captured.length === 0
		? ""
		: JSON.stringify(Object.fromEntries(captured));
}

/** node:http reads every byte as Latin-1; senders who go beyond ASCII mostly mean UTF-8 (RFC 9110 §5.5 leaves it open). */
function readable(value: string): string {
	const bytes = Buffer.from(value, "latin1");
	return isUtf8(bytes) ? bytes.toString() : value;
}
