import type { NatsConnection } from "@nats-io/transport-node";
import type { DeletionAnswer } from "../../../packages/contracts/archive.ts";
import { deletionSubject } from "../../../packages/contracts/nats.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { ObjectKeys } from "../../archive/s3/object-keys.ts";
import type { ObjectStore } from "../../archive/s3/object-store.ts";
import { NatsProgress } from "../../archive/write/nats-progress.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import { deleteSourceObjects } from "../deletion/source-objects.ts";
import { readDeletionRequest } from "../request/request.ts";
import { Responder, type Task } from "../request/responder.ts";
import { flushShares, type IndexedShard } from "../shares/source-shares.ts";

/** How long one request deletes. Operator repeats the request for the rest. */
const sliceMs = 15_000;

/**
 * Deletes sources of one shard for operator (packages/contracts/archive.ts). Any archive can repeat every step. A request that
 * finds everything deleted changes nothing.
 */
export class DeletionResponder {
	readonly #options: DeletionResponderOptions;
	readonly #responder: Responder;

	constructor(options: DeletionResponderOptions) {
		this.#options = options;
		const { connection, shard, log } = options;
		this.#responder = new Responder({
			connection,
			subject: deletionSubject(shard.number),
			log,
			answer: (text, task) => this.#answer(text, task),
		});
	}

	close(): void {
		this.#responder.close();
	}

	async #answer(text: string, task: Task): Promise<DeletionAnswer> {
		const { connection, replicas, shard, tombstones, log } = this.#options;
		const source = readDeletionRequest(text);
		// The tombstone comes first: archiving leaves the source out from now on, and the sweep removes late objects.
		await tombstones.add(source);
		shard.forgetDeleted();
		const progress = await NatsProgress.open(connection, replicas);
		await progress.setDeleted(source, Date.now());
		// Events may have been in the stream, or on their way into the store, before the tombstone.
		await flushShares(connection, shard, source, task);
		const untilMs = performance.now() + sliceMs;
		const { objects, remainsFrom } = await deleteSourceObjects(
			this.#options,
			source,
			() => performance.now() < untilMs && !task.stopping.aborted,
		);
		const isDone = remainsFrom === undefined;
		log.info({ ...source, objects, isDone }, "deleted a source's events");
		return { ok: true, isDone, objects, ...(remainsFrom && { remainsFrom }) };
	}
}

export interface DeletionResponderOptions {
	connection: NatsConnection;
	replicas: number;
	shard: IndexedShard & { forgetDeleted(): void };
	store: ObjectStore;
	keys: ObjectKeys;
	tombstones: Tombstones;
	log: Logger;
}
