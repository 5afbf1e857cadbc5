// prom-client: the field's metrics library, with the text format and defaults for Node.
import { Counter, Gauge, type Registry } from "prom-client";

/** What a shard tells about its work; each has the label `shard`. */
export class ArchiveMetrics {
	readonly cuts: Counter;
	readonly events: Counter;
	readonly repeatedFrames: Counter;
	readonly objects: Counter;
	readonly objectBytes: Counter;
	readonly failures: Counter;
	readonly manifests: Counter;
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
}
