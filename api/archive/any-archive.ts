import type { NatsConnection } from "@nats-io/transport-node";
import type { ArchiveNotice } from "../../packages/contracts/archive-notice.ts";

/** Archive signs up to some hundred links. */
const timeoutMs = 20_000;

/** Asks any archive, which has the bucket. The function that is returned throws if nobody answers. */
export function askAnyArchive<Question, Answer extends object>(
	connection: () => NatsConnection,
	subject: string,
	maxWait = timeoutMs,
): (question: Question) => Promise<Answer> {
	return async (question) => {
		const answers = await connection().requestMany(
			subject,
			JSON.stringify(question),
			{ strategy: "timer", maxWait },
		);
		for await (const answer of answers) {
			const said = answer.json<Answer | ArchiveNotice>();
			if (!("working" in said)) return said;
		}
		throw new Error("archive is silent");
	};
}

/** For tests without archive. */
export async function noArchive(): Promise<never> {
	throw new Error("there is no archive");
}
