import type { NatsConnection } from "@nats-io/transport-node";
import type {
	ReleaseAnswer,
	ReleaseRequest,
} from "../../../packages/contracts/archive.ts";
import { releaseSubject } from "../../../packages/contracts/nats.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import type { FairLimit } from "../../../packages/fair/fair-limit.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { IndexedObject } from "../../archive/ledger/date-objects.ts";
import type { ObjectKeys } from "../../archive/s3/object-keys.ts";
import type { FileStore, ObjectStore } from "../../archive/s3/object-store.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import { readReleaseRequest } from "../request/request.ts";
import { requireUndeleted } from "../request/require-undeleted.ts";
import { Responder, type Task } from "../request/responder.ts";
import { DateLedgers } from "../retention/date-ledgers.ts";
import { objectsIn } from "../shards/shares.ts";
import { flushShares, type IndexedShard } from "../shares/source-shares.ts";
import { DateRelease } from "./date-release.ts";
import { releaseInTurns } from "./release-turns.ts";
import type { ReleasedLedgers } from "./released-ledgers.ts";

const maxTombstonesAgeMs = 60_000;

/** Answers operator's requests to release events of one shard's sources (packages/contracts/archive.ts). */
export class ReleaseResponder {
	readonly #options: ReleaseResponderOptions;
	readonly #responder: Responder;

	constructor(options: ReleaseResponderOptions) {
		this.#options = options;
		const { connection, shard, log } = options;
		this.#responder = new Responder({
			connection,
			subject: releaseSubject(shard.number),
			log,
			answer: (text, task) => this.#release(readReleaseRequest(text), task),
		});
	}

	close(): void {
		this.#responder.close();
	}

	async #release(
		{ operation, account, sourceKey, start, end, filter }: ReleaseRequest,
		task: Task,
	): Promise<ReleaseAnswer> {
		const { connection, shard, store, keys, scratch, tombstones, log } =
			this.#options;
		const { released, turns } = this.#options;
		const source = { account, sourceKey };
		const { shares } = await flushShares(connection, shard, source, task);
		const means = {
			store,
			keys,
			scratch,
			signal: task.stopping,
			idle: async () => {
				await tombstones.refresh(maxTombstonesAgeMs);
				requireUndeleted(tombstones, { account, sourceKey });
			},
		};
		const apart = new Map<UtcDate, Iterable<IndexedObject>>();
		for (const date of shares.flatMap((share) => [
			...share.quarantined.keys(),
		])) {
			const objects = objectsIn(shares, "quarantined", date);
			if (objects) apart.set(date, objects);
		}
		const earlier = new DateLedgers(store, keys);
		for (const date of await earlier.datesOf(source)) {
			if (date < start || date > end || apart.has(date)) continue;
			const { quarantined } = await earlier.require({ ...source, date });
			const objects = quarantined();
			if (objects) apart.set(date, objects);
		}
		const wanted = [...apart.keys()]
			.filter((date) => date >= start && date <= end)
			.sort();
		const dates = await releaseInTurns(account, wanted, turns, task, (date) => {
			const folder = { account, sourceKey, date };
			const objects = apart.get(date) ?? [];
			return new DateRelease(means, { folder, operation, filter, objects });
		});
		await released.publish({ account, sourceKey });
		log.info({ operation, account, sourceKey, dates }, "released events");
		return { ok: true, dates };
	}
}

export interface ReleaseResponderOptions {
	connection: NatsConnection;
	shard: IndexedShard;
	store: ObjectStore & FileStore;
	keys: ObjectKeys;
	scratch: string;
	tombstones: Tombstones;
	/** Of all shards of this process. */
	turns: FairLimit;
	released: Pick<ReleasedLedgers, "publish">;
	log: Logger;
}
