// prom-client: the field's metrics library, with the text format and defaults for Node.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { StoreRequest } from "../../../packages/bucket/store-requests.ts";
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
		unknownStreams: number;
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
	readonly lateEvents: Counter;
	/** Without `shard`. */
	readonly listFailures: Counter;
	readonly alarm: Gauge;
	readonly active: Gauge;
	/** With the label `enforced_by`, without `shard`. */
	readonly retention: Gauge;
	/** Without labels. */
	readonly bucketRefused: Gauge;

	readonly #registry: Registry;
	/** By the name of the work. */
	readonly #failingSinceMs = new Map<string, number | undefined>();
	readonly #storeRequests: Counter;
	readonly #storeSeconds: Histogram;

	constructor(
		registry: Registry,
		shards: () => Iterable<ObservedShard>,
		backlogs: () => Promise<ShardReading[]>,
	) {
		this.#registry = registry;
		const counter = this.counter.bind(this);
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
		this.lateEvents = counter(
			"late_events",
			"Events that reached the stream after their date was closed. They are archived. The next scheduled Run into a table that is loaded by day loads the date again.",
		);
		this.listFailures = counter(
			"list_failures",
			"Lists of objects that readers of the bucket follow and that couldn't be written; archive tries again at the next interval.",
			[],
		);
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
		this.bucketRefused = new Gauge({
			name: "tidemill_archive_bucket_refused",
			help: "1 while archive leaves the bucket alone, because it is an older copy or another one than NATS knows, and nobody has accepted it.",
			registers: [registry],
		});
		const observed = (
			name: string,
			help: string,
			collect: (gauge: Gauge) => void | Promise<void>,
			label = "shard",
		) =>
			new Gauge({
				name: `tidemill_archive_${name}`,
				help,
				labelNames: [label],
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
		observed(
			"unknown_losses",
			"Streams that are gone, in the retained days, and of which nobody can say how many frames they still held. 0 when each lost frame is counted.",
			(gauge) => {
				for (const { number, index } of shards())
					gauge.set({ shard: number }, index.unknownStreams);
			},
		);
		observed(
			"failing_seconds",
			"For how long this process has failed at some work beside archiving, such as retention or lists. 0 if the last try went well.",
			(gauge) => {
				for (const [work, sinceMs] of this.#failingSinceMs)
					gauge.set(
						{ work },
						sinceMs === undefined
							? 0
							: Math.max(0, (Date.now() - sinceMs) / 1000),
					);
			},
			"work",
		);
		this.#storeRequests = counter(
			"store_requests",
			"Requests to the bucket, each try of one, by the name of S3's operation and the status of HTTP; 0 if no answer came. Stores bill by them.",
			["operation", "status"],
		);
		this.#storeSeconds = new Histogram({
			name: "tidemill_archive_store_request_seconds",
			help: "Time from a request to the bucket to the head of its answer.",
			labelNames: ["operation"],
			buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
			registers: [registry],
		});
		observeBacklogs(registry, backlogs);
	}

	/** Says whether the last try of some work failed. */
	tellWork(work: string, isFailing: boolean, nowMs = Date.now()): void {
		const sinceMs = this.#failingSinceMs.get(work) ?? nowMs;
		this.#failingSinceMs.set(work, isFailing ? sinceMs : undefined);
	}

	/** Counts a request to the bucket. @param status 0 if no answer came. */
	countRequest({ operation, status, seconds }: StoreRequest): void {
		this.#storeRequests.inc({ operation, status });
		this.#storeSeconds.observe({ operation }, seconds);
	}

	/** Those of a feature are made with it, and are the same if it is made again. */
	counter(name: string, help: string, labelNames = ["shard"]): Counter {
		const full = `tidemill_archive_${name}_total`;
		const made = this.#registry.getSingleMetric(full);
		const registers = [this.#registry];
		return made instanceof Counter
			? made
			: new Counter({ name: full, help, labelNames, registers });
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
