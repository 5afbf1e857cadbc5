import { eventsSubject } from "../../../packages/contracts/nats.ts";
import type { Logger } from "../../../packages/service/log.ts";
import { readEventsRequest } from "../request/events-request.ts";
import { Responder } from "../request/responder.ts";
import { EventStore, type EventStoreOptions } from "./event-store.ts";
import { listEvents } from "./listing.ts";
import { findEvent } from "./lookup.ts";

/** Answers the API's questions about the stored events of one shard's sources (packages/contracts/stored-event.ts). */
export class EventsResponder {
	readonly #events: EventStore;
	readonly #responder: Responder;

	constructor({ log, ...options }: EventsResponderOptions) {
		const { connection, shard } = options;
		this.#events = new EventStore(options);
		this.#responder = new Responder({
			connection,
			subject: eventsSubject(shard.number),
			log,
			answer: (text) => this.#answer(text),
		});
	}

	close(): void {
		this.#responder.close();
	}

	async #answer(text: string): Promise<object | Uint8Array> {
		const { account, list, id, body, keySeconds, ...asked } =
			readEventsRequest(text);
		const sourceKeys = await this.#events.existing(account, asked.sourceKeys);
		if (list) {
			const [sourceKey] = sourceKeys;
			return sourceKey === undefined
				? { ok: true, events: [] }
				: listEvents(this.#events, account, sourceKey, list);
		}
		const found = await findEvent(this.#events, {
			account,
			sourceKeys,
			id: id!,
			whole: body === true,
			keyMs: (keySeconds ?? 0) * 1_000,
		});
		return found.body
			? Buffer.concat([
					Buffer.from(`${JSON.stringify(found.answer)}\n`),
					found.body,
				])
			: found.answer;
	}
}

export interface EventsResponderOptions extends EventStoreOptions {
	log: Logger;
}
