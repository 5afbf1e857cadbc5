import type { NatsConnection } from "@nats-io/transport-node";
import type {
	ManifestAnswer,
	ManifestQuestion,
} from "../../contracts/manifest.ts";
import { manifestSubject } from "../../contracts/nats.ts";

/**
 * Asks archive for a Run's manifest. Archive flushes the shard first, which takes as long as the objects take to
 * arrive in S3. Never throws: no answer is an answer that can be asked for again.
 */
export async function requestManifest(
	nats: NatsConnection,
	shard: number,
	question: ManifestQuestion,
): Promise<ManifestAnswer> {
	try {
		const reply = await nats.request(
			manifestSubject(shard),
			JSON.stringify(question),
			{ timeout: answerTimeoutMs },
		);
		return reply.json<ManifestAnswer>();
	} catch (error) {
		return {
			ok: false,
			error: {
				code: "ManifestUnavailable",
				message: `Archive of shard ${shard} did not answer (${(error as Error).message}). Check that tidemill archive and NATS are running.`,
				retryable: true,
			},
		};
	}
}

const answerTimeoutMs = 60_000;
