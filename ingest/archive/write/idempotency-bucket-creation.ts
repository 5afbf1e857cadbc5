import {
	DiscardPolicy,
	JetStreamApiError,
	jetstreamManager,
	RetentionPolicy,
	StorageType,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket } from "../../../packages/contracts/nats.ts";
import {
	IdempotencyBucket,
	idempotencyStream,
	keyHeadroom,
} from "../../wire/idempotency-bucket.ts";

export interface KeySettings {
	/** The most idempotency keys that are kept at a time. */
	maxKeys: number;
	replicas: number;
}

const timeoutMs = 5_000;
/** nats-server's JSStreamNameExistErr: the stream exists with other settings. */
const nameTaken = 10058;

/**
 * Opens the idempotency bucket, created or updated to these settings. The KV client can't create it: it adds a marker
 * message for each expired entry (ADR-48), and can't limit the number of entries.
 */
export async function openKeyBucket(
	connection: NatsConnection,
	{ maxKeys, replicas }: KeySettings,
): Promise<IdempotencyBucket> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	const bounds = { max_msgs: maxKeys + keyHeadroom, num_replicas: replicas };
	try {
		await streams.add({
			name: idempotencyStream,
			description: "Idempotency keys of senders, by account and digest",
			subjects: [`$KV.${bucket.idempotency}.>`],
			storage: StorageType.File,
			retention: RetentionPolicy.Limits,
			discard: DiscardPolicy.New,
			max_msgs_per_subject: 1,
			allow_direct: true,
			allow_msg_ttl: true,
			...bounds,
		});
	} catch (error) {
		if (!(error instanceof JetStreamApiError) || error.code !== nameTaken)
			throw error;
		await streams.update(idempotencyStream, bounds);
	}
	return IdempotencyBucket.open(connection, timeoutMs);
}
