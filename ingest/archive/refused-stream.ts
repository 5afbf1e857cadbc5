import {
	DiscardPolicy,
	JetStreamApiError,
	jetstreamManager,
	RetentionPolicy,
	StorageType,
} from "@nats-io/jetstream";
import { type NatsConnection, nanos } from "@nats-io/transport-node";
import { refused } from "../../packages/contracts/nats.ts";
import {
	maxKeptOfSource,
	maxRecordBytes,
	refusedStream,
} from "../../packages/contracts/refused-request.ts";
import type { Logger } from "../../packages/service/log.ts";
import { natsReason } from "../../packages/service/nats/connection.ts";
import { pause } from "../../packages/service/pause.ts";

/** How long the stream may be missing after NATS has lost its memory. */
const lookEveryMs = 30_000;
/** nats-server's JSStreamNameExistErr: the stream exists with other settings. */
const nameTaken = 10058;

/** Creates the stream of refused requests, and again whenever it is gone, until the signal fires. */
export async function keepRefusedStream(
	connection: NatsConnection,
	replicas: number,
	log: Logger,
	signal: AbortSignal,
): Promise<void> {
	while (!signal.aborted) {
		await openRefusedStream(connection, replicas).catch((error) =>
			log.warn(
				{ err: error, reason: natsReason(error) },
				"can't create the stream of refused requests: people can't look at them, and events are stored all the same",
			),
		);
		await pause(lookEveryMs, signal);
	}
}

/** Creates the stream of refused requests, or gives it these settings. */
export async function openRefusedStream(
	connection: NatsConnection,
	replicas: number,
): Promise<void> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	const settings = {
		subjects: [refused.subjects],
		max_age: nanos(refusedStream.keptMs),
		max_bytes: refusedStream.maxBytes,
		max_msg_size: maxRecordBytes,
		max_msgs_per_subject: maxKeptOfSource,
		num_replicas: replicas,
		allow_direct: true,
	};
	try {
		await streams.add({
			name: refused.stream,
			description: "Refused requests of the last hours, for people",
			// Writing them must not make the disk slower for frames, and losing them with NATS does no harm.
			storage: StorageType.Memory,
			retention: RetentionPolicy.Limits,
			discard: DiscardPolicy.Old,
			...settings,
		});
	} catch (error) {
		if (!(error instanceof JetStreamApiError) || error.code !== nameTaken)
			throw error;
		await streams.update(refused.stream, settings);
	}
}
