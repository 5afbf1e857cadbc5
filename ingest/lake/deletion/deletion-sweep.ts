import type { NatsConnection } from "@nats-io/transport-node";
import { dayMs } from "../../../packages/contracts/utc-date.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { ObjectKeys } from "../../archive/s3/object-keys.ts";
import type { ObjectStore } from "../../archive/s3/object-store.ts";
import { NatsProgress } from "../../archive/write/nats-progress.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import { hourly } from "../hourly.ts";
import { deleteSourceObjects } from "./source-objects.ts";

/** An archiver that sleeps longer than this writes dates that retention removes. */
const sweptForMs = 45 * dayMs;

/**
 * Keeps deleted what tombstones name, independently of the shards. An archiver that slept through a deletion may write an
 * object later, and a rebuilt NATS has forgotten that the source key must never be used again.
 */
export class DeletionSweep {
	readonly #options: DeletionSweepOptions;

	constructor(options: DeletionSweepOptions) {
		this.#options = options;
	}

	/** At once and then every hour, until the signal fires. */
	run(signal: AbortSignal): Promise<void> {
		const { log } = this.#options;
		return hourly("the sweep of deleted sources", () => this.sweep(signal), {
			log,
			signal,
		});
	}

	/** Returns how many objects of deleted sources it found and deleted. */
	async sweep(signal: AbortSignal): Promise<number> {
		const { connection, replicas, tombstones, log } = this.#options;
		const progress = await NatsProgress.open(connection, replicas);
		let swept = 0;
		for await (const { sinceMs, ...source } of tombstones.read()) {
			await progress.setDeleted(source, sinceMs);
			if (Date.now() - sinceMs > sweptForMs) continue;
			const { objects } = await deleteSourceObjects(
				this.#options,
				source,
				() => !signal.aborted,
			);
			swept += objects;
			if (objects > 0)
				log.info({ ...source, objects }, "swept a deleted source's events");
		}
		return swept;
	}
}

export interface DeletionSweepOptions {
	connection: NatsConnection;
	replicas: number;
	store: ObjectStore;
	keys: ObjectKeys;
	tombstones: Tombstones;
	log: Logger;
}
