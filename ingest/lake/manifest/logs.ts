import type { NatsConnection } from "@nats-io/transport-node";
import type {
	LogAnswer,
	LogRequest,
} from "../../../packages/contracts/manifest.ts";
import { logSubject } from "../../../packages/contracts/nats.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { ObjectStore } from "../../archive/s3/object-store.ts";
import { readLogRequest } from "../request/requests.ts";
import { Responder } from "../request/responder.ts";

/** Answers the API's requests for logs of Jobs, whatever the shard. */
export function answerLogs({
	connection,
	store,
	log,
}: {
	connection: NatsConnection;
	store: ObjectStore;
	log: Logger;
}): Responder<LogRequest> {
	return new Responder({
		connection,
		subject: logSubject,
		log,
		read: readLogRequest,
		answer: async (request): Promise<LogAnswer> => {
			const padded = await store.get(store.keys.log(request));
			return {
				ok: true,
				...(padded !== undefined && { log: logText(padded) }),
			};
		},
	});
}

/** The log in an object, without the spaces that fill it up to its size. Takes a step for each of them, whoever wrote them. */
export function logText(padded: string): string {
	let end = padded.length;
	while (padded.charCodeAt(end - 1) === space) end--;
	return padded.slice(0, end);
}

const space = 0x20;
