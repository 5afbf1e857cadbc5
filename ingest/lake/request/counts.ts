import type { LakeContext } from "./context.ts";
import type { Answers } from "./responder.ts";

/**
 * Answers the API's requests for what was counted of a Source, whatever the shard. The API may not read the bucket: in place of a
 * key, NATS takes a wildcard, and would tell it all Sources.
 */
export function answerCounts({
	progress,
}: Pick<LakeContext, "progress">): Answers["counts"] {
	return async (request) => ({
		ok: true,
		...(await (await progress()).counts(request)),
	});
}
