import { isDeepStrictEqual } from "node:util";
import { type Route, routeKey } from "../../../packages/contracts/route.ts";

/** What to change so that receivers have exactly the desired routes. */
export interface RoutePlan {
	/** Routes whose source key nobody owns. They are put after it is taken. */
	take: Route[];
	put: Route[];
	/** Bucket keys without a desired route. */
	remove: string[];
}

/**
 * Compares what Sources want with what is in NATS.
 * @param desired Oldest Source first: of two Sources with one source key, the older one has it.
 * @param owners Source key → account.
 * @param published Bucket key → route; undefined for an unreadable entry.
 */
export function decide(
	desired: Route[],
	owners: ReadonlyMap<string, string>,
	published: ReadonlyMap<string, Route | undefined>,
): RoutePlan {
	const plan: RoutePlan = { take: [], put: [], remove: [] };
	const seen = new Set<string>();
	const kept = new Set<string>();
	for (const route of desired) {
		if (seen.has(route.sourceKey)) continue;
		const keyOwner = owners.get(route.sourceKey);
		// An older Source of another account does not take the key from its owner.
		if (keyOwner !== undefined && keyOwner !== route.account) continue;
		seen.add(route.sourceKey);
		if (keyOwner === undefined) {
			plan.take.push(route);
			continue;
		}
		const key = routeKey(route.sourceKey);
		kept.add(key);
		if (!isDeepStrictEqual(published.get(key), route)) plan.put.push(route);
	}
	for (const key of published.keys()) if (!kept.has(key)) plan.remove.push(key);
	return plan;
}
