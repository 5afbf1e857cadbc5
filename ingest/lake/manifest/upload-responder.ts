import type { NatsConnection } from "@nats-io/transport-node";
import { uploadSubject } from "../../../packages/contracts/nats.ts";
import type { UploadAnswer } from "../../../packages/contracts/transfer.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { ObjectKeys } from "../../archive/s3/object-keys.ts";
import type { ObjectStore } from "../../archive/s3/object-store.ts";
import { readUploadRequest } from "../request/request.ts";
import { Responder } from "../request/responder.ts";
import { Uploads } from "./uploads.ts";

/** For the largest file, at 300 KiB/s. */
const linkSeconds = 3_600;

/** Answers the API's requests for links to upload files for Imports (packages/contracts/transfer.ts), whatever the shard. */
export class UploadResponder {
	readonly #options: UploadResponderOptions;
	readonly #responder: Responder;

	constructor(options: UploadResponderOptions) {
		this.#options = options;
		const { connection, log } = options;
		this.#responder = new Responder({
			connection,
			subject: uploadSubject,
			log,
			answer: (text) => this.#answer(text),
		});
	}

	close(): void {
		this.#responder.close();
	}

	async #answer(text: string): Promise<UploadAnswer> {
		const { store, keys } = this.#options;
		const request = readUploadRequest(text);
		const seconds = await store.linkSeconds(linkSeconds);
		const expiresAt = new Date(Date.now() + seconds * 1000).toISOString();
		const files = await new Uploads(store, keys).links(request, seconds);
		return { ok: true, files, expiresAt };
	}
}

export interface UploadResponderOptions {
	connection: NatsConnection;
	store: ObjectStore;
	keys: ObjectKeys;
	log: Logger;
}
