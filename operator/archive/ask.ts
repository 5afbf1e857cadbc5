import type { NatsConnection } from "@nats-io/transport-node";

/** What archive answers when it can't, or can't yet. */
export interface ArchiveRefusal {
	ok: false;
	error: { code: string; message: string; retryable: boolean };
}

/** Archive flushes the shard first, which takes as long as the objects take to arrive in S3. */
const answerTimeoutMs = 60_000;

/**
 * Asks archive something about a shard on the subject that is for it. Never throws: no answer is one that can be asked
 * for again, under the code that is given.
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
