import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
// prom-client: the field's metrics library, with the text format and defaults for Node.
import { Gauge, type Registry } from "prom-client";

/** A reading of the metrics waits for NATS no longer than this. */
const timeoutMs = 1_000;

export interface ShardBacklog {
	shard: number;
	frames: number;
	bytes: number;
	/** What the stream may hold; undefined without a limit. */
	limitBytes: number | undefined;
	/** Age of the oldest frame by NATS's clock; 0 if there is none. */
	lagSeconds: number;
}

export type OnSilent = (shard: number, error: unknown) => void;

/**
 * Adds what waits in the shards' streams to the metrics. Archive has these metrics, and the operator has the same, so that
 * they are true while no archive runs.
 */
export function observeBacklogs(
	registry: Registry,
	backlogs: () => Promise<ShardBacklog[]>,
): void {
	// One reading of all metrics asks NATS once.
	let reading: Promise<ShardBacklog[]> | undefined;
	const observe = (
		name: string,
		help: string,
		figure: (backlog: ShardBacklog) => number | undefined,
	) =>
		new Gauge({
			name: `tidemill_archive_${name}`,
			help: `${help} Absent while NATS doesn't answer. Archive and operator both tell it.`,
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
				for (const backlog of found) {
					const value = figure(backlog);
					if (value !== undefined) this.set({ shard: backlog.shard }, value);
				}
			},
		});
	observe(
		"lag_seconds",
		"Age of the oldest frame in the shard's stream, which isn't archived yet, also while archive is in alarm, stands by or is away. Alert if it is above 300, or absent.",
		({ lagSeconds }) => lagSeconds,
	);
	observe(
		"backlog_bytes",
		"Bytes of the frames in the shard's stream, which aren't archived yet.",
		({ bytes }) => bytes,
	);
	observe(
		"backlog_limit_bytes",
		"Bytes that the shard's stream may hold. Receive answers 503 once it is full.",
		({ limitBytes }) => limitBytes,
	);
	observe(
		"backlog_frames",
		"Frames in the shard's stream, which aren't archived yet.",
		({ frames }) => frames,
	);
}

/**
 * The current backlogs of the shards that have a stream, by their subjects.
 * @param onSilent gets the shards that don't answer and why. Without it, NATS's errors are thrown: then an alert that waits
 * for the absence of all figures fires for one shard, too.
 */
export async function readBacklogs(
	connection: NatsConnection,
	shards: readonly number[],
	subjectOf: (shard: number) => string,
	onSilent?: OnSilent,
): Promise<ShardBacklog[]> {
	const { streams } = await jetstreamManager(connection, {
		checkAPI: false,
		timeout: timeoutMs,
	});
	const read = async (shard: number): Promise<ShardBacklog[]> => {
		const [stream] = await streams.names(subjectOf(shard)).next();
		if (stream === undefined) return [];
		const { ts, state, config } = await streams.info(stream);
		const { messages, bytes, first_ts } = state;
		const ageMs = messages > 0 ? Date.parse(ts!) - Date.parse(first_ts) : 0;
		const lagSeconds = Math.max(0, ageMs / 1000);
		const limitBytes = config.max_bytes > 0 ? config.max_bytes : undefined;
		return [{ shard, frames: messages, bytes, limitBytes, lagSeconds }];
	};
	return (
		await Promise.all(
			shards.map((shard) =>
				read(shard).catch((error) => {
					if (!onSilent) throw error;
					onSilent(shard, error);
					return [];
				}),
			),
		)
	).flat();
}
