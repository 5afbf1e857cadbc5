import type { SchemaObject } from "../../crds/json-schema.ts";
import {
	maxImportFiles,
	maxUploadBytes,
	type UploadRequest,
} from "../../packages/contracts/transfer.ts";
import { requireRight } from "../caller/account.ts";
import type { Handler } from "../http/endpoint.ts";
import { bodyReader } from "../resources/resource-body.ts";
import { linksOf } from "./export-files.ts";

export const sha256 = {
	description: "SHA-256 of the file's content, 64 hex digits.",
	type: "string",
	pattern: "^[0-9a-f]{64}$",
};
const bytes = {
	description: "Its size.",
	type: "integer",
	minimum: 1,
	maximum: maxUploadBytes,
};
const file = {
	type: "object",
	required: ["sha256", "bytes"],
	properties: { sha256, bytes },
	additionalProperties: false,
};
const files = {
	description: "The files.",
	type: "array",
	items: file,
	minItems: 1,
	maxItems: maxImportFiles,
};

/** The body of {@link createUploads}. */
export const uploadCreate: SchemaObject = {
	description: "Files to upload. They stay for three days.",
	type: "object",
	required: ["files"],
	properties: { files },
	additionalProperties: false,
	examples: [{ files: [{ sha256: "0".repeat(64), bytes: 1000 }] }],
};

/** The files that a body asks for. Throws a 400 that names each wrong field. */
export const filesOf = bodyReader<Pick<UploadRequest, "files">>(
	"upload",
	uploadCreate,
);

/**
 * `POST /v1/uploads`: links to put files into the bucket, for an Import that names them by their SHA-256. It needs the right to
 * create Operations.
 */
export const createUploads: Handler = async (request) => {
	const { body } = request;
	await requireRight(request, { verb: "create", resource: "operations" });
	const { files } = filesOf(body);
	const asked = request.server.archive.askUploads({
		account: request.account,
		files,
	});
	const failure = "Nothing can be uploaded";
	const answer = await linksOf(asked, failure, request);
	return {
		items: answer.files.map(({ sha256, link }) => ({ sha256, ...link })),
		expiresAt: answer.expiresAt,
	};
};
