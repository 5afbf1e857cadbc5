// prom-client: the field's metrics library, with the text format and defaults for Node.
import { Gauge, type Registry } from "prom-client";

export interface ShardBacklog {
	frames: number;
	bytes: number;
	/** What the stream can hold, by its own limit and by the room that JetStream has left; undefined without a limit. */
	limitBytes: number | undefined;
	/** Age of the oldest frame by NATS's clock; 0 if there is none. */
	lagSeconds: number;
}

export interface ShardReading {
	shard: number;
	/** Undefined if the shard has no stream, or doesn't answer. */
	backlog?: ShardBacklog;
	/** Why it doesn't answer. */
	error?: unknown;
}

/**
 * Adds what waits in the shards' streams to the metrics. Archive has these metrics, and the operator has the same, so that
 * they are true while no archive runs.
 */
export function observeBacklogs(
	registry: Registry,
	backlogs: () => Promise<ShardReading[]>,
): void {
	// One reading of all metrics asks NATS once.
	let reading: Promise<ShardReading[]> | undefined;
	const observe = (
		name: string,
		help: string,
		figure: (reading: ShardReading) => number | undefined,
	) =>
		new Gauge({
			name: `tidemill_archive_${name}`,
			help: `${help} Archive and operator both tell it.`,
			labelNames: ["shard"],
			registers: [registry],
			async collect() {
				reading ??= backlogs()
					.catch(() => [])
					.finally(() => {
						reading = undefined;
					});
				const found = await reading;
				this.reset();
				for (const each of found) {
					const value = figure(each);
					if (value !== undefined) this.set({ shard: each.shard }, value);
				}
			},
		});
	observe(
		"stream_up",
		"Whether NATS tells the figures of the shard's stream: 1 or 0. Absent while the shard has no stream, or NATS hasn't answered since the process began. Alert if it is 0, or absent for all shards.",
		({ backlog, error }) => (backlog ? 1 : error ? 0 : undefined),
	);
	observe(
		"lag_seconds",
		"Age of the oldest frame in the shard's stream, which isn't archived yet, also while archive is in alarm, stands by or isn't running. Alert if it is above 300. Absent while NATS doesn't answer.",
		({ backlog }) => backlog?.lagSeconds,
	);
	observe(
		"backlog_bytes",
		"Bytes of the frames in the shard's stream, which aren't archived yet. Absent while NATS doesn't answer.",
		({ backlog }) => backlog?.bytes,
	);
	observe(
		"backlog_limit_bytes",
		"Bytes that the shard's stream can hold: by its max_bytes, or fewer when JetStream's servers or account have less room left. Receive answers 503 once it is full. Absent while NATS doesn't answer.",
		({ backlog }) => backlog?.limitBytes,
	);
	observe(
		"backlog_frames",
		"Frames in the shard's stream, which aren't archived yet. Absent while NATS doesn't answer.",
		({ backlog }) => backlog?.frames,
	);
}
