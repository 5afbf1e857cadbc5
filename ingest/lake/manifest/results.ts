import type { LakeContext } from "../request/context.ts";
import type { Answers } from "../request/responder.ts";
import { ManifestObjects } from "./manifest-objects.ts";
import { ManifestStore, requireOwner } from "./manifest-store.ts";

/** Answers operator's requests for what the Jobs of Runs left, about Sources of one shard (packages/contracts/manifest.ts). */
export function answerResults(context: LakeContext): Answers["result"] {
	const objects = new ManifestObjects(context);
	const manifests = new ManifestStore(context, objects);
	return async (request) => {
		const newest = await manifests.newest(request.run);
		if (newest) requireOwner(newest, request);
		return { ok: true, ...(newest && (await manifests.left(newest))) };
	};
}

/** Answers the API's requests for logs of Jobs, whatever the shard. */
export function answerLogs({ store }: LakeContext): Answers["log"] {
	return async (request) => {
		const padded = await store.get(store.keys.log(request));
		return { ok: true, ...(padded !== undefined && { log: logText(padded) }) };
	};
}

/** The log in an object, without the spaces that fill it up to its size. Takes a step for each of them, whoever wrote them. */
export function logText(padded: string): string {
	let end = padded.length;
	while (padded.charCodeAt(end - 1) === space) end--;
	return padded.slice(0, end);
}

const space = 0x20;
