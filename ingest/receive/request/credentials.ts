import { hash, timingSafeEqual } from "node:crypto";
import type { Route } from "../../../packages/contracts/route.ts";

/** Whether this is the URL key that the route was issued with. */
export function hasUrlKey(route: Route, urlKey: string): boolean {
	return sameDigest(hash("sha256", urlKey), route.urlKeyDigest);
}

type TokenDigest = (token: string | Uint8Array) => string;

/** Headers as node:http gives them: lower-case names, Latin-1 values. */
type Headers = NodeJS.Dict<string | string[]>;

/** Whether a route without signatures lets the request in: it asks for no token, or accepts the one in a header or the query. */
export function isAuthorized(
	route: Route & { tokenDigest?: TokenDigest | undefined },
	headers: Headers,
	queryToken: string | undefined,
): boolean {
	const { authorization, tokenDigest } = route;
	if (authorization.type !== "CustomToken")
		return authorization.type === "None";
	if (!tokenDigest) return false;
	let accepted = false;
	for (const token of presentedTokens(headers, queryToken)) {
		const digest = tokenDigest(token);
		// Compare every digest, so that timing doesn't reveal which one was close.
		for (const expected of authorization.digests)
			accepted = sameDigest(digest, expected) || accepted;
	}
	return accepted;
}

/** Every token that a request carries, wherever one may stand. */
export function presentedTokens(
	headers: Headers,
	queryToken: string | undefined,
): (string | Buffer)[] {
	const presented: (string | Buffer)[] = [];
	if (queryToken !== undefined) presented.push(queryToken);
	const custom = headers["x-webhook-token"];
	if (typeof custom === "string") presented.push(Buffer.from(custom, "latin1"));
	const bearer = /^bearer +(.+)$/i.exec(String(headers.authorization ?? ""));
	if (bearer) presented.push(Buffer.from(bearer[1]!, "latin1"));
	return presented;
}

function sameDigest(a: string, b: string): boolean {
	return (
		a.length === b.length &&
		timingSafeEqual(Buffer.from(a, "latin1"), Buffer.from(b, "latin1"))
	);
}
