import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import type { Tracing } from "../../../packages/service/tracing.ts";
import type { CutRecord, GroupEvents } from "../decide/cut.ts";
import type { ObjectKeys } from "../s3/object-keys.ts";
import type { ObjectStore } from "../s3/object-store.ts";
import type { ArchiveMetrics } from "./archive-metrics.ts";
import { traceObject } from "./object-trace.ts";
import { eventFile } from "./parquet/event-file.ts";
import type { Tombstones } from "./tombstones.ts";

/** A PUT to S3 takes 20 to 50 ms, so a cut of many sources would wait for most of its time. */
const objectsAtOnce = 32;

export class CutWriter {
	readonly #store: ObjectStore;
	readonly #keys: ObjectKeys;
	readonly #tombstones: Tombstones;
	readonly #metrics: ArchiveMetrics;
	readonly #tracing: Tracing | undefined;

	constructor(options: {
		store: ObjectStore;
		keys: ObjectKeys;
		tombstones: Tombstones;
		metrics: ArchiveMetrics;
		tracing?: Tracing | undefined;
	}) {
		this.#store = options.store;
		this.#keys = options.keys;
		this.#tombstones = options.tombstones;
		this.#metrics = options.metrics;
		this.#tracing = options.tracing;
	}

	get isTraced(): boolean {
		return this.#tracing !== undefined;
	}

	/** Settles when all objects of the cut are in the store, whoever wrote them. Leaves out deleted sources. */
	async write(
		shard: number,
		cut: CutRecord,
		groups: readonly GroupEvents[],
	): Promise<void> {
		await mapConcurrently(groups, objectsAtOnce, async ({ group, events }) => {
			if (this.#tombstones.has(group)) return;
			const startMs = this.#tracing ? Date.now() : 0;
			const body = await eventFile(events);
			const key = this.#keys.events(group, cut.stream, cut.first);
			// "exists" is success, too: its writer had the same cut and the same frames.
			const written = await this.#store.putNew(
				key,
				body,
				"application/vnd.apache.parquet",
			);
			if (this.#tracing)
				traceObject(this.#tracing, { ...cut, key, events, startMs });
			if (written === "exists") return;
			this.#metrics.objects.inc({ shard });
			this.#metrics.objectBytes.inc({ shard }, body.length);
		});
	}
}
