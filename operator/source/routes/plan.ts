import { isDeepStrictEqual } from "node:util";
import { type Route, routeKey } from "../../../contracts/route.ts";

/** What must be done so that receivers know exactly the desired routes. */
export interface RoutePlan {
	/** Routes whose key nobody has claimed. They are put once the claim is settled. */
	claim: Route[];
	put: Route[];
	/** Bucket keys of no desired route. */
	remove: string[];
}

/**
 * Compares what Sources want with what is in NATS.
 * @param desired oldest Source first: the older of two with one source key has it.
 * @param claims source key → account.
 * @param published bucket key → route; undefined for an entry that can't be read.
 */
export function planRoutes(
	desired: Route[],
	claims: ReadonlyMap<string, string>,
	published: ReadonlyMap<string, Route | undefined>,
): RoutePlan {
	const plan: RoutePlan = { claim: [], put: [], remove: [] };
	const seen = new Set<string>();
	const kept = new Set<string>();
	for (const route of desired) {
		if (seen.has(route.sourceKey)) continue;
		const claimant = claims.get(route.sourceKey);
		// A Source of another account doesn't shadow the one that has the key, even if it is older.
		if (claimant !== undefined && claimant !== route.account) continue;
		seen.add(route.sourceKey);
		if (claimant === undefined) {
			plan.claim.push(route);
			continue;
		}
		const key = routeKey(route.sourceKey);
		kept.add(key);
		if (!isDeepStrictEqual(published.get(key), route)) plan.put.push(route);
	}
	for (const key of published.keys()) if (!kept.has(key)) plan.remove.push(key);
	return plan;
}
