import type { IncomingHttpHeaders } from "node:http";
import type { Route } from "../../../packages/contracts/route.ts";
import type { ChallengeAnswer } from "./reply.ts";

/*
 * Lets pages of other origins send events and read the answers (the Fetch standard, "CORS protocol"). It keeps nobody out: what
 * isn't a browser needs no leave, so a request of another origin is validated as any other.
 */

type Cors = NonNullable<Route["cors"]>;

/** The headers of every answer to a request of this origin. */
export function corsHeaders(
	{ allowedOrigins }: Cors,
	{ origin }: Pick<IncomingHttpHeaders, "origin">,
): [name: string, value: string][] {
	const isAny = allowedOrigins.includes("*");
	const headers: [string, string][] = isAny ? [] : [["vary", "origin"]];
	if (origin === undefined || !(isAny || allowedOrigins.includes(origin)))
		return headers;
	headers.push(
		["access-control-allow-origin", isAny ? "*" : origin],
		["access-control-expose-headers", "retry-after, tidemill-event-id"],
	);
	return headers;
}

/** The longest that Chromium keeps an answer. */
const maxAgeSeconds = "7200";

/** Names of headers (RFC 9110 §5.6.2), as browsers list them. */
const headerNames = /^[\w!#$%&'*+.^`|~-]+(?:, ?[\w!#$%&'*+.^`|~-]+)*$/;

/** Answers a browser that asks whether it may send; undefined if it may not, or if this is no such question. */
export function answerPreflight(
	{ allowedOrigins }: Cors,
	headers: IncomingHttpHeaders,
): ChallengeAnswer | undefined {
	const { origin = "" } = headers;
	const method = headers["access-control-request-method"];
	const names = headers["access-control-request-headers"];
	const isAllowed =
		method === "POST" &&
		(allowedOrigins.includes("*") || allowedOrigins.includes(origin));
	if (!isAllowed) return undefined;
	return {
		status: 200,
		contentType: "application/json",
		headers: [
			"access-control-allow-methods",
			"POST",
			"access-control-max-age",
			maxAgeSeconds,
			...(names !== undefined && headerNames.test(names)
				? ["access-control-allow-headers", names]
				: []),
		],
		body: '{"is_success":true}',
	};
}
