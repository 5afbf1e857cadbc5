import type { RefusedRequest } from "../../contracts/live/refused-request.ts";
import type { Source } from "../../crds/generated/types.ts";
import { requireRight } from "../caller/access.ts";
import { RequestError } from "../http/errors.ts";
import { instantOf } from "../http/instant.ts";
import type { Caller, Handler } from "../http/operation.ts";
import { flagOf } from "../http/query.ts";
import { sizeOf } from "../lists/page.ts";
import { sources } from "../resources/api-resource.ts";
import { requireResource } from "../resources/resource-read.ts";

/** `GET /v1/sources/{name}/refusals`: the refused requests of the last hours that were kept, newest first. */
export const listRefused: Handler = async (caller, { params, query }) => {
	const name = params.name!;
	const withBody = flagOf("body", query.body);
	const limit = sizeOf(query.limit);
	const from =
		query.from === undefined
			? undefined
			: Date.parse(instantOf("from", query.from));
	const { sourceKey } = await requireSource(caller, name, withBody);
	if (sourceKey === undefined) return { items: [] };
	const kept = await caller
		.readRefused(caller.account, sourceKey)
		.catch((error: Error) => {
			caller.log.warn({ err: error }, "refused requests can't be read");
			throw new RequestError(
				"Unavailable",
				"The refused requests can't be read: NATS doesn't answer, or archive hasn't run since NATS was started. Retry the request.",
				{ headers: { "retry-after": "2" } },
			);
		});
	return {
		items: kept
			.map(({ request }) => refusedView(request, withBody))
			.filter(({ time }) => from === undefined || Date.parse(time) >= from)
			.reverse()
			.slice(0, limit),
	};
};

/**
 * What the caller needs to read of the Source. Throws a 403 without the right to its events, or to their bodies if those are
 * asked for, and a 404 if there is no such Source.
 */
export async function requireSource(
	caller: Caller,
	name: string,
	withBody: boolean,
): Promise<{ sourceKey: string | undefined; shard: number | undefined }> {
	const right = { verb: "get", resource: "sources", name };
	await requireRight(caller, { ...right, subresource: "events" });
	if (withBody) await requireRight(caller, { ...right, subresource: "bodies" });
	const { status } = (await requireResource(sources, caller, name)) as Source;
	const { sourceKey, shard } = status ?? {};
	return { sourceKey, shard };
}

/** A refused request as the caller may see it. */
export function refusedView(
	{ version, bodyHead, violations, ...record }: RefusedRequest,
	withBody: boolean,
) {
	return {
		...record,
		...(withBody && bodyHead !== undefined && { bodyHead }),
		...(withBody && violations !== undefined && { violations }),
	};
}
