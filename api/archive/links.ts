import type { FastifyReply } from "fastify";
import { RequestError } from "../http/errors.ts";
import type { Caller } from "../http/endpoint.ts";

interface Refusal {
	ok: false;
	error: { message: string; retryable: boolean };
}

/**
 * What archive answers with links. They are secrets, so nobody keeps the reply.
 * @param failure what people can't do without them, as in "Nothing can be uploaded".
 * Throws {@link RequestError} Unavailable if archive can't answer now, or Conflict if it refuses.
 */
export async function linksOf<Answer extends { ok: true } | Refusal>(
	asked: Promise<Answer>,
	failure: string,
	caller: Caller,
	reply: FastifyReply,
): Promise<Extract<Answer, { ok: true }>> {
	const unavailable = (why: string) =>
		new RequestError("Unavailable", `${failure}: ${why}`, {
			headers: { "retry-after": "2" },
		});
	const answer = await asked.catch((error: Error) => {
		caller.log.warn({ err: error }, "archive gives no links");
		throw unavailable("archive doesn't answer. Retry the request.");
	});
	if (!answer.ok) {
		const { message, retryable } = answer.error;
		if (retryable) throw unavailable(message);
		throw new RequestError("Conflict", message);
	}
	reply.header("cache-control", "no-store");
	return answer as Extract<Answer, { ok: true }>;
}
