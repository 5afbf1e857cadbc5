import { hash, timingSafeEqual } from "node:crypto";
import type { Route } from "../../../contracts/route.ts";

/** A webhook URL taken apart: `/hooks/<source key>/<url key>[?token=…]`. */
export interface Address {
	sourceKey: string;
	urlKey: string;
	/** The token parameter, percent-decoded. */
	token: string | undefined;
	/** What stands after the question mark. */
	query: string | undefined;
}

const pattern = /^\/hooks\/([0-9a-f]{32})\/([0-9a-f]{32})(?:\?(.*))?$/;

/** Reads a request target (RFC 9112 §3.2.1, origin form); undefined when it can't be a webhook URL. */
export function parseAddress(target: string): Address | undefined {
	const match = pattern.exec(target);
	if (!match) return undefined;
	const [, sourceKey, urlKey, query] = match;
	return {
		sourceKey: sourceKey!,
		urlKey: urlKey!,
		token: tokenIn(query),
		query,
	};
}

/** A plus stays a plus: people paste Base64 tokens into URLs as they are. */
function tokenIn(query: string | undefined): string | undefined {
	const pair = query?.split("&").find((pair) => pair.startsWith("token="));
	if (pair === undefined) return undefined;
	try {
		return decodeURIComponent(pair.slice("token=".length));
	} catch {
		return undefined;
	}
}

/** Whether the url key is the one that this route was issued with. */
export function hasUrlKey(route: Route, urlKey: string): boolean {
	return sameDigest(hash("sha256", urlKey), route.urlKeyDigest);
}

/** Headers as node:http gives them: lower-case names, values as Latin-1. */
type Headers = NodeJS.Dict<string | string[]>;

/** Whether one of the places where a token may stand holds one that the route accepts. */
export function isAuthorized(
	route: Route,
	headers: Headers,
	queryToken: string | undefined,
): boolean {
	const { authorization } = route;
	if (authorization.type !== "CustomToken")
		return authorization.type === "None";
	const presented: (string | Buffer)[] = [];
	if (queryToken !== undefined) presented.push(queryToken);
	const custom = headers["x-webhook-token"];
	if (typeof custom === "string") presented.push(Buffer.from(custom, "latin1"));
	const bearer = /^bearer +(.+)$/i.exec(String(headers.authorization ?? ""));
	if (bearer) presented.push(Buffer.from(bearer[1]!, "latin1"));

	let accepted = false;
	for (const token of presented) {
		const digest = hash("sha256", token);
		// Every digest is compared, so that time doesn't tell which one was near.
		for (const expected of authorization.digests)
			accepted = sameDigest(digest, expected) || accepted;
	}
	return accepted;
}

function sameDigest(a: string, b: string): boolean {
	return (
		a.length === b.length &&
		timingSafeEqual(Buffer.from(a, "latin1"), Buffer.from(b, "latin1"))
	);
}
