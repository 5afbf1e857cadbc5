import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import pino from "pino";
import { Registry } from "prom-client";
import { LedgerIndex } from "../../../ingest/archive/ledger/ledger-index.ts";
import { ArchiveMetrics } from "../../../ingest/archive/write/archive-metrics.ts";
import { Tombstones } from "../../../ingest/archive/write/tombstones.ts";
import { Compactor } from "../../../ingest/lake/compaction/compactor.ts";
import type { DueDate } from "../../../ingest/lake/compaction/due-dates.ts";
import type { ObjectStoreSettings } from "../../../packages/bucket/s3-client.ts";
import { S3ObjectStore } from "../../../packages/bucket/s3-object-store.ts";

/** The dates to compact, and the bucket. */
export interface CompactionWork {
	settings: ObjectStoreSettings;
	dates: DueDate[];
}

/** Archive's compactor in its own process, to measure its memory: `node compaction-process.ts <work.json>`. */
const file = process.argv[2]!;
const work: CompactionWork = JSON.parse(await readFile(file, "utf8"));
const { signal } = new AbortController();
const store = new S3ObjectStore(work.settings, signal);
const shard = {
	number: 0,
	index: new LedgerIndex(),
	isArchiving: true,
	lagSeconds: 0,
};
const compactor = new Compactor({
	store,
	shards: [shard],
	minObjects: 2,
	intervalMs: 600_000,
	maxLagSeconds: 1,
	scratch: dirname(file),
	tombstones: new Tombstones(store),
	metrics: new ArchiveMetrics(
		new Registry(),
		() => [],
		async () => [],
	),
	log: pino({ level: "silent" }),
});
for (const date of work.dates) await compactor.compact(0, date, signal);
store.close();
