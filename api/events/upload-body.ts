import type { UploadRequest } from "../../packages/contracts/transfer.ts";
import { requireRight } from "../caller/account.ts";
import { importSchemas } from "../document/transfer-schemas.ts";
import type { Handler } from "../http/endpoint.ts";
import { bodyReader } from "../resources/resource-body.ts";
import { linksOf } from "./export-files.ts";

/** The files that a body asks for. Throws a 400 that names each wrong field. */
export const filesOf = bodyReader<Pick<UploadRequest, "files">>(
	"upload",
	importSchemas.UploadCreate!,
);

/**
 * `POST /v1/uploads`: links to put files into the bucket, for an Import that names them by their SHA-256. It needs the right to
 * create Operations.
 */
export const createUploads: Handler = async (request, reply) => {
	const { body } = request;
	await requireRight(request, { verb: "create", resource: "operations" });
	const { files } = filesOf(body);
	const asked = request.server.archive.askUploads({
		account: request.account,
		files,
	});
	const failure = "Nothing can be uploaded";
	const answer = await linksOf(asked, failure, request, reply);
	return {
		items: answer.files.map(({ sha256, link }) => ({ sha256, ...link })),
		expiresAt: answer.expiresAt,
	};
};
