import { hash } from "node:crypto";
import type { Route } from "../../../packages/contracts/route.ts";

/** The route of a Source that asks nothing of its senders but the url key. */
export function routeWith(
	urlKey: string,
	sourceKey: string,
	change: Partial<Route> = {},
): Route {
	return {
		version: 1,
		account: "shop",
		source: "orders",
		sourceKey,
		urlKeyDigest: hash("sha256", urlKey),
		shard: 0,
		suspended: false,
		authorization: { type: "None" },
		maxBodyBytes: 1_048_576,
		capturedHeaders: [],
		...change,
	};
}
