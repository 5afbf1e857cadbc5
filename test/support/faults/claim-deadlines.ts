import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { IdempotencyBucket } from "../../../ingest/wire/idempotency-bucket.ts";
import { claimMs } from "../../../ingest/wire/idempotency-entry.ts";
import { bucket } from "../../../packages/contracts/nats.ts";

/**
 * Ends the claims of a receiver that died at this instant, as if their two minutes had gone by. Claims that another
 * receiver made later keep their deadline.
 */
export async function endClaimsOfDead(
	connection: NatsConnection,
	diedAtMs: number,
): Promise<void> {
	const entries = await IdempotencyBucket.open(connection, 120_000);
	const keys = await new Kvm(connection).open(bucket.idempotency);
	for await (const key of await keys.keys()) {
		const kept = await entries.read(key);
		if (kept?.entry.state !== "claimed") continue;
		if (kept.entry.deadlineMs - claimMs > diedAtMs) continue;
		const entry = { ...kept.entry, deadlineMs: diedAtMs };
		// Where another write comes first, archive has found the event.
		await entries.write(key, entry, kept.revision);
	}
}
