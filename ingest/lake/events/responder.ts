import type { EventsRequest } from "../../../packages/contracts/stored-event.ts";
import { FairLimit } from "../../../packages/fair/fair-limit.ts";
import type { LakeContext } from "../request/context.ts";
import { RequestFailure } from "../request/errors.ts";
import type { LakeShard } from "../request/lake-shard.ts";
import { requireTurn } from "../request/requirements.ts";
import type { Answers } from "../request/responder.ts";
import { EventStore } from "./event-store.ts";
import { listEvents } from "./listing.ts";
import { findEvent } from "./lookup.ts";
import type { RowThread } from "./row-thread.ts";

/** Of an account: one reads at a time, for some seconds a page. */
const maxSearchesWaiting = 4;

/** Answers the API's questions about the stored events of one shard's sources (packages/contracts/stored-event.ts). */
export function answerEvents(
	{ reading: turns, ...context }: LakeContext,
	shard: LakeShard,
	thread: RowThread,
): Answers["events"] {
	const events = new EventStore({ ...context, turns, thread, shard });
	const searching = new FairLimit({ atOncePerOwner: 1 });
	return (request) => {
		const { account, list } = request;
		const answer = () => answerTo(events, request);
		if (!list?.match) return answer();
		requireTurn(searching, account, maxSearchesWaiting, "searches in events");
		return searching.run(account, answer);
	};
}

async function answerTo(
	events: EventStore,
	{ account, list, id, body, keySeconds = 0, ...asked }: EventsRequest,
): Promise<object | Uint8Array> {
	const sourceKeys = await events.existing(account, asked.sourceKeys);
	if (list) {
		const [sourceKey] = sourceKeys;
		return sourceKey === undefined
			? { ok: true, events: [] }
			: listEvents(events, account, sourceKey, list);
	}
	if (id === undefined)
		throw new RequestFailure(
			"QuestionInvalid",
			"The events request has neither a list nor an id",
		);
	const found = await findEvent(events, {
		account,
		sourceKeys,
		id,
		whole: body === true,
		keyMs: keySeconds * 1_000,
	});
	if (!found.body) return found.answer;
	// The body follows after a line feed, which JSON has none of.
	const head = Buffer.from(`${JSON.stringify(found.answer)}\n`);
	return Buffer.concat([head, found.body]);
}
