import { eventsSubject } from "../../../packages/contracts/nats.ts";
import type { EventsRequest } from "../../../packages/contracts/stored-event.ts";
import type { Logger } from "../../../packages/service/log.ts";
import { RequestFailure } from "../request/errors.ts";
import { readEventsRequest } from "../request/requests.ts";
import { Responder } from "../request/responder.ts";
import { EventStore, type EventStoreOptions } from "./event-store.ts";
import { listEvents } from "./listing.ts";
import { findEvent } from "./lookup.ts";

/** Answers the API's questions about the stored events of one shard's sources (packages/contracts/stored-event.ts). */
export function answerEvents({
	log,
	...options
}: EventStoreOptions & { log: Logger }): Responder<EventsRequest> {
	const { shard } = options;
	const events = new EventStore(options);
	return new Responder({
		connection: shard.connection,
		subject: eventsSubject(shard.number),
		log,
		read: readEventsRequest,
		answer: (request) => answerTo(events, request),
	});
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
