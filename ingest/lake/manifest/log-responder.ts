import type { NatsConnection } from "@nats-io/transport-node";
import type { LogAnswer } from "../../../packages/contracts/manifest.ts";
import { logSubject } from "../../../packages/contracts/nats.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { ObjectKeys } from "../../archive/s3/object-keys.ts";
import type { ObjectStore } from "../../archive/s3/object-store.ts";
import { readLogRequest } from "../request/request.ts";
import { Responder } from "../request/responder.ts";
import { logText } from "./log-text.ts";

/** Answers the API's requests for logs of Jobs, whatever the shard. */
export class LogResponder {
	readonly #options: LogResponderOptions;
	readonly #responder: Responder;

	constructor(options: LogResponderOptions) {
		this.#options = options;
		const { connection, log } = options;
		this.#responder = new Responder({
			connection,
			subject: logSubject,
			log,
			answer: (text) => this.#logOf(text),
		});
	}

	close(): void {
		this.#responder.close();
	}

	async #logOf(text: string): Promise<LogAnswer> {
		const { keys, store } = this.#options;
		const padded = await store.get(keys.log(readLogRequest(text)));
		return {
			ok: true,
			...(padded !== undefined && { log: logText(padded) }),
		};
	}
}

interface LogResponderOptions {
	connection: NatsConnection;
	store: ObjectStore;
	keys: ObjectKeys;
	log: Logger;
}
