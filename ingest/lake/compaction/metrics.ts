// prom-client: see archive-metrics.ts.
import type { Counter } from "prom-client";
import type { ArchiveMetrics } from "../../archive/write/archive-metrics.ts";

/** Compaction's among archive's metrics. Each has the label `shard`, unless it says otherwise. */
export class CompactionMetrics {
	readonly compactions: Counter;
	readonly compactedObjects: Counter;
	readonly outputs: Counter;
	readonly bytes: Counter;
	readonly failures: Counter;
	/** Without `shard`. */
	readonly supersededObjects: Counter;

	constructor(archive: Pick<ArchiveMetrics, "counter">) {
		this.compactions = archive.counter(
			"compactions",
			"Closed dates of a Source that were compacted.",
		);
		this.compactedObjects = archive.counter(
			"compacted_objects",
			"Objects that compactions replaced.",
		);
		this.outputs = archive.counter(
			"compaction_outputs",
			"Objects that compactions wrote in their place.",
		);
		this.bytes = archive.counter(
			"compaction_output_bytes",
			"Bytes of the objects that compactions wrote.",
		);
		this.failures = archive.counter(
			"compaction_failures",
			"Failed compactions of a date; archive tries again later.",
		);
		this.supersededObjects = archive.counter(
			"superseded_objects",
			"Objects removed after a compaction had replaced them.",
			[],
		);
	}
}
