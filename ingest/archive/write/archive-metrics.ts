// prom-client: the field's metrics library, with the text format and defaults for Node.
import { Counter, Gauge, type Registry } from "prom-client";
import {
	observeBacklogs,
	type ShardReading,
} from "../../../packages/service/backlog-metrics.ts";
import { type CutRecord, lateEvents } from "../decide/cut.ts";

/** What each reading of the metrics asks of a shard. */
export interface ObservedShard {
	number: number;
	index: {
		/** RFC 3339; undefined before the first cut. */
		archivedThrough: string | undefined;
		/** By date. */
		lostFrames: ReadonlyMap<string, number>;
	};
}

/** Archive's metrics. Each has the label `shard`, unless it says otherwise. */
export class ArchiveMetrics {
	readonly cuts: Counter;
	readonly events: Counter;
	readonly quarantinedEvents: Counter;
	readonly repeatedFrames: Counter;
	readonly objects: Counter;
	readonly objectBytes: Counter;
	readonly failures: Counter;
	readonly manifests: Counter;
	readonly compactions: Counter;
	readonly compactedObjects: Counter;
	readonly compactionOutputs: Counter;
	readonly compactionBytes: Counter;
	readonly compactionFailures: Counter;
	readonly lateEvents: Counter;
	/** Without `shard`. */
	readonly supersededObjects: Counter;
	/** Without `shard`. */
	readonly listFailures: Counter;
	readonly alarm: Gauge;
	readonly active: Gauge;
	/** With the label `enforced_by`, without `shard`. */
	readonly retention: Gauge;

	readonly #registry: Registry;

	constructor(
		registry: Registry,
		shards: () => Iterable<ObservedShard>,
		backlogs: () => Promise<ShardReading[]>,
	) {
		this.#registry = registry;
		const counter = (name: string, help: string) =>
			new Counter({
				name: `tidemill_archive_${name}_total`,
				help,
				labelNames: ["shard"],
				registers: [registry],
			});
		this.cuts = counter("cuts", "Cuts whose objects are all in the bucket.");
		this.events = counter("events", "Events in those cuts.");
		this.quarantinedEvents = counter(
			"quarantined_events",
			"Those of the events that their tracking plan keeps in quarantine.",
		);
		this.repeatedFrames = counter(
			"repeated_frames",
			"Frames left out because they repeat an earlier frame.",
		);
		this.objects = counter("objects", "Objects written by this process.");
		this.objectBytes = counter("object_bytes", "Bytes of those objects.");
		this.failures = counter(
			"failures",
			"Restarts of a shard's work after NATS or the bucket failed.",
		);
		this.manifests = counter("manifests", "Manifests given.");
		this.compactions = counter(
			"compactions",
			"Closed dates of a Source that were compacted.",
		);
		this.compactedObjects = counter(
			"compacted_objects",
			"Objects that compactions replaced.",
		);
		this.compactionOutputs = counter(
			"compaction_outputs",
			"Objects that compactions wrote in their place.",
		);
		this.compactionBytes = counter(
			"compaction_output_bytes",
			"Bytes of the objects that compactions wrote.",
		);
		this.compactionFailures = counter(
			"compaction_failures",
			"Failed compactions of a date; archive tries again later.",
		);
		this.lateEvents = counter(
			"late_events",
			"Events that reached the stream after their date was closed. They are archived. The next scheduled Run into a table that is loaded by day loads the date again.",
		);
		this.supersededObjects = new Counter({
			name: "tidemill_archive_superseded_objects_total",
			help: "Objects removed after a compaction had replaced them.",
			registers: [registry],
		});
		this.listFailures = new Counter({
			name: "tidemill_archive_list_failures_total",
			help: "Lists of objects that readers of the bucket follow and that couldn't be written; archive tries again at the next interval.",
			registers: [registry],
		});
		const gauge = (name: string, help: string, label = "shard") =>
			new Gauge({
				name: `tidemill_archive_${name}`,
				help,
				labelNames: [label],
				registers: [registry],
			});
		this.alarm = gauge(
			"alarm",
			"1 while the shard is stopped because continuing would need a guess about events.",
		);
		this.active = gauge(
			"active",
			"1 while this process archives the shard, 0 while it stands by for another that does.",
		);
		this.retention = gauge(
			"retention",
			"1 for whoever removes expired events: a lifecycle rule of the bucket, or archive's own sweep.",
			"enforced_by",
		);
		const observed = (
			name: string,
			help: string,
			collect: (gauge: Gauge) => void | Promise<void>,
		) =>
			new Gauge({
				name: `tidemill_archive_${name}`,
				help,
				labelNames: ["shard"],
				registers: [registry],
				collect() {
					return collect(this);
				},
			});
		observed(
			"watermark_seconds",
			"Stream time of the latest archived frame, in seconds since 1970. All frames before it are archived, too.",
			(gauge) => {
				for (const { number, index } of shards())
					if (index.archivedThrough !== undefined)
						gauge.set(
							{ shard: number },
							Date.parse(index.archivedThrough) / 1000,
						);
			},
		);
		observed(
			"lost_frames",
			"Frames that NATS acknowledged and lost before they were archived, in the retained days. Each is one to some thousand events. Archive has gone on without them.",
			(gauge) => {
				for (const { number, index } of shards())
					gauge.set({ shard: number }, sumOf(index.lostFrames.values()));
			},
		);
		observeBacklogs(registry, backlogs);
	}

	/** Includes the open tails from now on. */
	observeTails(tails: readonly { shard: number; size: number }[]): void {
		new Gauge({
			name: "tidemill_archive_tails",
			help: "Live tails that this archive reads new frames for.",
			labelNames: ["shard"],
			registers: [this.#registry],
			collect() {
				for (const { shard, size } of tails) this.set({ shard }, size);
			},
		});
	}

	countCut(shard: number, cut: CutRecord): void {
		this.cuts.inc({ shard });
		this.repeatedFrames.inc({ shard }, cut.repeated.length);
		for (const { rows, quarantined } of cut.groups) {
			this.events.inc({ shard }, rows);
			if (quarantined) this.quarantinedEvents.inc({ shard }, rows);
		}
		this.lateEvents.inc({ shard }, lateEvents(cut));
	}
}

function sumOf(numbers: Iterable<number>): number {
	let sum = 0;
	for (const number of numbers) sum += number;
	return sum;
}
