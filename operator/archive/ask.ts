import type { NatsConnection } from "@nats-io/transport-node";

/** Archive's answer if it can't do what it is asked, or can't do it yet. */
export interface ArchiveRefusal {
	ok: false;
	error: { code: string; message: string; retryable: boolean };
}

/** Archive flushes the shard first, until the objects are in S3. */
const answerTimeoutMs = 60_000;

/**
 * Asks archive about a shard. Never throws: a missing answer becomes a retryable refusal.
 * @param noAnswer The code of that refusal.
 */
export async function askArchive<Answer>(
	nats: NatsConnection,
	{ subject, shard }: { subject: string; shard: number },
	question: unknown,
	noAnswer: string,
): Promise<Answer | ArchiveRefusal> {
	try {
		const timeout = { timeout: answerTimeoutMs };
		const reply = await nats.request(
			subject,
			JSON.stringify(question),
			timeout,
		);
		return reply.json<Answer>();
	} catch (error) {
		return {
			ok: false,
			error: {
				code: noAnswer,
				message: `Archive of shard ${shard} did not answer (${(error as Error).message}). Check that tidemill archive and NATS are running.`,
				retryable: true,
			},
		};
	}
}
