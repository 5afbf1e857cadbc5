import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import type { Route } from "../../contracts/route.ts";
import type { ContentKind } from "../frame.ts";
import { hasUrlKey, isAuthorized, parseAddress } from "./address.ts";
import { contentKind, maxEventBodyBytes } from "./content.ts";
import { type Refusal, refusals } from "./refusal.ts";
import type { RouteTable } from "./route-table.ts";

/** A request whose body is welcome. */
export interface Admission {
	route: Route;
	kind: ContentKind;
	/** The captured headers as a JSON object; empty when there are none. */
	headers: string;
	maxBodyBytes: number;
}

/** Decides by request line and headers alone. What is told depends on nothing that the sender hasn't shown a key to. */
export function admit(
	method: string,
	target: string,
	headers: IncomingHttpHeaders,
	routes: Pick<RouteTable, "find" | "isSynced">,
): Admission | Refusal {
	const address = parseAddress(target);
	if (!address) return refusals.UnknownURL;
	if (method !== "POST") return refusals.MethodNotAllowed;

	const route = routes.find(address.sourceKey);
	if (!route || !hasUrlKey(route, address.urlKey))
		return routes.isSynced ? refusals.UnknownURL : refusals.NotReady;
	if (!isAuthorized(route, headers, address.token))
		return refusals.Unauthorized;
	if (route.suspended) return refusals.SourceSuspended;

	const encoding = headers["content-encoding"];
	if (encoding !== undefined && encoding.toLowerCase() !== "identity")
		return refusals.UnsupportedContentEncoding;
	const kind = contentKind(headers["content-type"]);
	if (typeof kind !== "string") return kind;
	const maxBodyBytes = Math.min(route.maxBodyBytes, maxEventBodyBytes);
	if (Number(headers["content-length"]) > maxBodyBytes)
		return refusals.BodyTooLarge;
	return { route, kind, headers: capture(route, headers), maxBodyBytes };
}

function capture(route: Route, headers: IncomingHttpHeaders): string {
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
