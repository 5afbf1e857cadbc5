import {
	DiscardPolicy,
	JetStreamApiError,
	jetstreamManager,
	RetentionPolicy,
	StorageType,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket } from "../../../contracts/nats.ts";
import {
	IdempotencyBucket,
	idempotencyStream,
	keyHeadroom,
} from "../../wire/idempotency-bucket.ts";

export interface KeySettings {
	/** How many idempotency keys are kept at most. */
	maxKeys: number;
	replicas: number;
}

const timeoutMs = 5_000;
/** nats-server's JSStreamNameExistErr: it is there, with other settings. */
const nameTaken = 10058;

/**
 * Makes the idempotency bucket as it is wanted. The KV client would add markers where entries have expired, each a message
 * of its own (ADR-48), and can't bound the number of entries.
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
			description: "Idempotency keys of senders, by digest",
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
