import type { Source } from "../../crds/generated/types.ts";
import { unitedShards } from "../../packages/contracts/route.ts";
import { requireRight } from "../caller/account.ts";
import type { ApiRequest } from "../http/endpoint.ts";
import { sources } from "../resources/api-resource.ts";
import { requireResource } from "../resources/resource-read.ts";

/** Where a Source's events are. */
export interface EventsPlace {
	sourceKey: string;
	/** All that may hold events; that of the new ones first. */
	shards: number[];
	/** How much later than its ID an event may be, because its sender's key was used before. */
	keySeconds: number;
}

/** Undefined until the operator has given the Source a key: it has no events. */
export function placeOf({ spec, status }: Source): EventsPlace | undefined {
	const { sourceKey, shard, shards = [] } = status ?? {};
	if (sourceKey === undefined || shard === undefined) return undefined;
	const { idempotency } = spec.webhook ?? {};
	return {
		sourceKey,
		shards: unitedShards([shard], shards),
		keySeconds: idempotency ? (idempotency.windowSeconds ?? 0) : 0,
	};
}

/** The Source, if the caller may see it and its events. Throws a 403 or a 404. */
export async function requireSource(
	request: ApiRequest,
	name: string,
	withBodies = false,
): Promise<Source> {
	const right = { verb: "get", resource: "sources", name };
	await requireRight(request, { ...right, subresource: "events" });
	if (withBodies)
		await requireRight(request, { ...right, subresource: "bodies" });
	return (await requireResource(sources, request, name)) as Source;
}
