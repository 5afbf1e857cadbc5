import type { NatsConnection } from "@nats-io/transport-node";
import type { ShareAnswer } from "../../../packages/contracts/archive.ts";
import { shareSubject } from "../../../packages/contracts/nats.ts";
import type { Logger } from "../../../packages/service/log.ts";
import { readShareRequest } from "../request/request.ts";
import { Responder, type Task } from "../request/responder.ts";
import type { IndexedShard } from "../shares/source-shares.ts";
import { flushSource } from "./flush-source.ts";
import { pageOf } from "./shares.ts";

/** Answers the archives of other shards, which sources of this one have moved from or to (packages/contracts/archive.ts). */
export class ShareResponder {
	readonly #options: ShareResponderOptions;
	readonly #responder: Responder;

	constructor(options: ShareResponderOptions) {
		this.#options = options;
		const { connection, shard, log } = options;
		this.#responder = new Responder({
			connection,
			subject: shareSubject(shard.number),
			log,
			answer: (text, task) => this.#answer(text, task),
		});
	}

	close(): void {
		this.#responder.close();
	}

	async #answer(text: string, task: Task): Promise<ShareAnswer> {
		const { connection, shard } = this.#options;
		const { account, sourceKey, from } = readShareRequest(text);
		await flushSource(connection, shard, sourceKey, task);
		const source = shard.index.source(account, sourceKey);
		if (!source) return { ok: true, dates: [] };
		const { firstEventDate } = source;
		return { ok: true, firstEventDate, ...pageOf(source, from) };
	}
}

export interface ShareResponderOptions {
	connection: NatsConnection;
	shard: IndexedShard;
	log: Logger;
}
