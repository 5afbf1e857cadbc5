import type {
	LogAnswer,
	LogRequest,
} from "../../../packages/contracts/manifest.ts";
import { logSubject } from "../../../packages/contracts/nats.ts";
import type { LakeContext } from "../request/context.ts";
import { readLogRequest } from "../request/requests.ts";
import type { LakeQuestion } from "../request/responder.ts";

/** Answers the API's requests for logs of Jobs, whatever the shard. */
export function answerLogs({ store }: LakeContext): LakeQuestion<LogRequest> {
	return {
		subject: logSubject,
		read: readLogRequest,
		answer: async (request): Promise<LogAnswer> => {
			const padded = await store.get(store.keys.log(request));
			return {
				ok: true,
				...(padded !== undefined && { log: logText(padded) }),
			};
		},
	};
}

/** The log in an object, without the spaces that fill it up to its size. Takes a step for each of them, whoever wrote them. */
export function logText(padded: string): string {
	let end = padded.length;
	while (padded.charCodeAt(end - 1) === space) end--;
	return padded.slice(0, end);
}

const space = 0x20;
