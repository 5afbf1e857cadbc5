import { requireRight } from "../caller/access.ts";
import { RequestError } from "../http/errors.ts";
import type { Handler } from "../http/operation.ts";
import { filesOf } from "./upload-body.ts";

/**
 * `POST /v1/uploads`: links to put files into the bucket, for an Import that names them by their SHA-256. It needs the right to
 * create Operations.
 */
export const createUploads: Handler = async (caller, { body }, reply) => {
	await requireRight(caller, { verb: "create", resource: "operations" });
	const files = filesOf(body);
	const answer = await caller
		.askUploads({ account: caller.account, files })
		.catch((error: Error) => {
			caller.log.warn({ err: error }, "archive gives no links for uploads");
			throw unavailable("archive doesn't answer. Retry the request.");
		});
	if (!answer.ok) {
		const { message, retryable } = answer.error;
		if (retryable) throw unavailable(message);
		throw new RequestError("Conflict", message);
	}
	// The links are secrets.
	reply.header("cache-control", "no-store");
	return {
		items: answer.files.map(({ sha256, link }) => ({ sha256, ...link })),
		expiresAt: answer.expiresAt,
	};
};

function unavailable(message: string): RequestError {
	return new RequestError(
		"Unavailable",
		`Nothing can be uploaded: ${message}`,
		{
			headers: { "retry-after": "2" },
		},
	);
}
