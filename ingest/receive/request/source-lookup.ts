import { parseAddress } from "./address.ts";
import { hasUrlKey } from "./credentials.ts";
import { type Refusal, refusals } from "./refusal.ts";
import type { FoundSource, RouteTable } from "./route-table.ts";

/** Finds the Source of a request target. A sender with a wrong URL key doesn't learn whether the Source exists. */
export function findSource(
	target: string,
	routes: Pick<RouteTable, "find" | "isSynced" | "remember" | "remembered">,
): FoundSource | Refusal {
	const remembered = routes.remembered(target);
	if (remembered) return remembered;
	const address = parseAddress(target);
	if (!address) return refusals.UnknownURL;
	const route = routes.find(address.sourceKey);
	if (!route || !hasUrlKey(route, address.urlKey))
		return routes.isSynced ? refusals.UnknownURL : refusals.NotReady;
	const source = { route, address };
	// A query can differ from event to event, and can hold a token.
	if (address.query === undefined) routes.remember(target, source);
	return source;
}
