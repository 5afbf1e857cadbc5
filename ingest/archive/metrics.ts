// prom-client: the field's metrics library, with the text format and defaults for Node.
import { Counter, Gauge, type Registry } from "prom-client";
import { type CutRecord, lateEvents } from "./cut.ts";

/** What a shard tells about its work; each has the label `shard`. */
export class ArchiveMetrics {
	readonly cuts: Counter;
	readonly events: Counter;
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
	/** Has no `shard`. */
	readonly supersededObjects: Counter;
	readonly alarm: Gauge;
	readonly lagSeconds: Gauge;
	/** Has the label `enforced_by`, and no `shard`. */
	readonly retention: Gauge;

	/** @param lags By shard, seconds since the stream took the oldest frame that was read and isn't archived. */
	constructor(registry: Registry, lags: () => Map<number, number>) {
		const counter = (name: string, help: string) =>
			new Counter({
				name: `tidemill_archive_${name}_total`,
				help,
				labelNames: ["shard"],
				registers: [registry],
			});
		this.cuts = counter("cuts", "Cuts whose objects are all in the store.");
		this.events = counter("events", "Events in those cuts.");
		this.repeatedFrames = counter(
			"repeated_frames",
			"Frames left out because they had been stored before.",
		);
		this.objects = counter("objects", "Objects written by this process.");
		this.objectBytes = counter("object_bytes", "Bytes of those objects.");
		this.failures = counter(
			"failures",
			"Times that work was begun again after NATS or the store failed.",
		);
		this.manifests = counter("manifests", "Manifest questions answered well.");
		this.compactions = counter(
			"compactions",
			"Closed dates of a source that were compacted.",
		);
		this.compactedObjects = counter(
			"compacted_objects",
			"Objects that compactions replaced.",
		);
		this.compactionOutputs = counter(
			"compaction_outputs",
			"Objects that stand in their place.",
		);
		this.compactionBytes = counter(
			"compaction_output_bytes",
			"Bytes of the objects that stand in their place.",
		);
		this.compactionFailures = counter(
			"compaction_failures",
			"Times that a date could not be compacted; it is tried again.",
		);
		this.lateEvents = counter(
			"late_events",
			"Events of a date that was closed when they reached the stream. They are stored; Runs that loaded the date before have missed them.",
		);
		this.supersededObjects = new Counter({
			name: "tidemill_archive_superseded_objects_total",
			help: "Objects removed after a compaction had replaced them.",
			registers: [registry],
		});
		this.alarm = new Gauge({
			name: "tidemill_archive_alarm",
			help: "1 while the shard is stopped, since going on would need a guess about events.",
			labelNames: ["shard"],
			registers: [registry],
		});
		this.retention = new Gauge({
			name: "tidemill_archive_retention",
			help: "1 at who removes events past their time: a lifecycle rule of the store, or archive's own sweep.",
			labelNames: ["enforced_by"],
			registers: [registry],
		});
		this.lagSeconds = new Gauge({
			name: "tidemill_archive_lag_seconds",
			help: "Age of the oldest frame that was read and isn't archived.",
			labelNames: ["shard"],
			registers: [registry],
			collect() {
				for (const [shard, seconds] of lags()) this.set({ shard }, seconds);
			},
		});
	}

	/** Counts a cut whose objects are all in the store. */
	countCut(shard: number, cut: CutRecord): void {
		this.cuts.inc({ shard });
		this.repeatedFrames.inc({ shard }, cut.repeated.length);
		for (const { rows } of cut.groups) this.events.inc({ shard }, rows);
		this.lateEvents.inc({ shard }, lateEvents(cut));
	}
}
