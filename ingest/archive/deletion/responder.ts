import type { NatsConnection } from "@nats-io/transport-node";
import type { DeletionAnswer } from "../../../contracts/deletion.ts";
import { deletionSubject } from "../../../contracts/nats.ts";
import type { Logger } from "../../../service/log.ts";
import { flushAll } from "../request/flush-all.ts";
import { readDeletionQuestion } from "../request/request.ts";
import { QuestionDesk } from "../request/responder.ts";
import type { ObjectKeys } from "../s3/object-keys.ts";
import type { ObjectStore } from "../s3/object-store.ts";
import type { Shard } from "../shard.ts";
import { Publication } from "../write/nats-progress.ts";
import { deleteSourceObjects } from "./source-objects.ts";
import type { Tombstones } from "./tombstones.ts";

/** How long one question deletes; who asks waits a minute in all, and asks again for the rest. */
const sliceMs = 15_000;

/**
 * Deletes sources of one shard for operator (contracts/deletion.ts). Every step can be repeated, by any archive: a
 * question that finds all done changes nothing.
 */
export class DeletionDesk {
	readonly #options: DeletionDeskOptions;
	readonly #desk: QuestionDesk;

	constructor(options: DeletionDeskOptions) {
		this.#options = options;
		const { connection, shard, log } = options;
		this.#desk = new QuestionDesk({
			connection,
			subject: deletionSubject(shard.number),
			log,
			answer: (text, stopping) => this.#answer(text, stopping),
		});
	}

	/** Takes no more questions; those that wait are told to ask again. */
	close(): void {
		this.#desk.close();
	}

	async #answer(text: string, stopping: AbortSignal): Promise<DeletionAnswer> {
		const { connection, replicas, shard, tombstones, log } = this.#options;
		const source = readDeletionQuestion(text);
		// First of all, so that what is archived from now on leaves it out, and what comes later is swept.
		await tombstones.add(source);
		shard.forgetDeleted();
		const publication = await Publication.open(connection, replicas);
		await publication.setDeleted(source, Date.now());
		// What was in the stream or on its way into the store before the tombstone.
		await flushAll(connection, shard, stopping);
		const untilMs = performance.now() + sliceMs;
		const { objects, remainsFrom } = await deleteSourceObjects(
			this.#options,
			source,
			() => performance.now() < untilMs && !stopping.aborted,
		);
		const isDone = remainsFrom === undefined;
		log.info({ ...source, objects, isDone }, "deleted a source's events");
		return { ok: true, isDone, objects, ...(remainsFrom && { remainsFrom }) };
	}
}

export interface DeletionDeskOptions {
	connection: NatsConnection;
	/** Of NATS's buckets. */
	replicas: number;
	shard: Shard;
	store: ObjectStore;
	keys: ObjectKeys;
	tombstones: Tombstones;
	log: Logger;
}
