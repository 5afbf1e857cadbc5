import type { NatsConnection } from "@nats-io/transport-node";
import type {
	DeletionAnswer,
	DeletionQuestion,
} from "../../contracts/deletion.ts";
import { deletionSubject } from "../../contracts/nats.ts";

/** Asks archive to delete a Source's events. Never throws: no answer is an answer that can be asked for again. */
export async function requestDeletion(
	nats: NatsConnection,
	shard: number,
	question: DeletionQuestion,
): Promise<DeletionAnswer> {
	try {
		const reply = await nats.request(
			deletionSubject(shard),
			JSON.stringify(question),
			{ timeout: answerTimeoutMs },
		);
		return reply.json<DeletionAnswer>();
	} catch (error) {
		return {
			ok: false,
			error: {
				code: "ArchiveUnavailable",
				message: `Archive of shard ${shard} did not answer (${(error as Error).message}). Check that tidemill archive and NATS are running.`,
				retryable: true,
			},
		};
	}
}

const answerTimeoutMs = 60_000;
