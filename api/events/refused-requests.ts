import type { NatsConnection } from "@nats-io/transport-node";
import { refused } from "../../packages/contracts/nats.ts";
import {
	maxKeptOfSource,
	type RefusedRequest,
} from "../../packages/contracts/refused-request.ts";
import { readStoredBatch } from "../../packages/service/nats/stored-batch.ts";
import type { ArchiveClient, Handler } from "../http/endpoint.ts";
import { RequestError } from "../http/errors.ts";
import { flagOf, instantOf } from "../http/query.ts";
import { sizeOf } from "../resources/page.ts";
import { requireSource } from "./sources.ts";

/** `GET /v1/sources/{name}/refusals`: the refused requests of the last hours that were kept, newest first. */
export const listRefused: Handler = async (request) => {
	const { params, query } = request;
	const name = params.name!;
	const withBody = flagOf("body", query.body);
	const limit = sizeOf(query.limit);
	const from =
		query.from === undefined
			? undefined
			: Date.parse(instantOf("from", query.from));
	const { status } = await requireSource(request, name, withBody);
	const { sourceKey } = status ?? {};
	if (sourceKey === undefined) return { items: [] };
	const kept = await request.server.archive
		.readRefused(request.account, sourceKey)
		.catch((error: Error) => {
			request.server.apiLog.warn(
				{ err: error },
				"refused requests can't be read",
			);
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

/** A refused request as the caller may see it. */
export function refusedView(
	{ version, bodyHead, violations, otherViolations, ...record }: RefusedRequest,
	withBody: boolean,
) {
	return {
		...record,
		...(withBody && bodyHead !== undefined && { bodyHead }),
		...(withBody && violations !== undefined && { violations }),
		...(withBody && otherViolations !== undefined && { otherViolations }),
	};
}

/** Reads from the stream of refused requests, by the account and the key of one Source alone. */
export function readRefusedFrom(
	connection: () => NatsConnection,
): ArchiveClient["readRefused"] {
	return async (account, sourceKey, after = 0) => {
		const messages = await readStoredBatch(connection(), refused.stream, {
			seq: after + 1,
			batch: maxKeptOfSource,
			next_by_subj: refused.subject(account, sourceKey),
		});
		return messages.map((message) => ({
			sequence: message.seq,
			request: message.json(),
		}));
	};
}
