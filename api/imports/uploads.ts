import { linksOf } from "../archive/links.ts";
import { requireRight } from "../caller/access.ts";
import type { Handler } from "../http/endpoint.ts";
import { filesOf } from "../events/upload-body.ts";

/**
 * `POST /v1/uploads`: links to put files into the bucket, for an Import that names them by their SHA-256. It needs the right to
 * create Operations.
 */
export const createUploads: Handler = async (caller, { body }, reply) => {
	await requireRight(caller, { verb: "create", resource: "operations" });
	const files = filesOf(body);
	const asked = caller.askUploads({ account: caller.account, files });
	const failure = "Nothing can be uploaded";
	const answer = await linksOf(asked, failure, caller, reply);
	return {
		items: answer.files.map(({ sha256, link }) => ({ sha256, ...link })),
		expiresAt: answer.expiresAt,
	};
};
