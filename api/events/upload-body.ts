import type { SchemaObject } from "../../crds/json-schema.ts";
import { patternWords } from "../../crds/pattern-words.ts";
import {
	maxImportFiles,
	maxUploadBytes,
	type UploadRequest,
} from "../../packages/contracts/transfer.ts";
import { requireRight } from "../caller/account.ts";
import { type Handler, isObject, type JsonObject } from "../http/endpoint.ts";
import { type ErrorDetail, invalidFields } from "../http/errors.ts";
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
export function filesOf({
	files,
	...others
}: JsonObject): Pick<UploadRequest, "files"> {
	const isList =
		Array.isArray(files) && files.length >= 1 && files.length <= maxImportFiles;
	const details = [
		...unknown("", others),
		...(isList
			? files.flatMap((each, index) => fileErrors(each, `files[${index}]`))
			: [
					{
						path: "files",
						message: `must be a list of 1 to ${maxImportFiles} files`,
					},
				]),
	];
	if (details.length > 0) throw invalidFields("upload", details);
	return { files: files as UploadRequest["files"] };
}

function fileErrors(file: unknown, at: string): ErrorDetail[] {
	if (!isObject(file)) return [{ path: at, message: "must be an object" }];
	const { sha256: digest, bytes: size, ...others } = file;
	const isSize =
		Number.isInteger(size) &&
		Number(size) >= 1 &&
		Number(size) <= maxUploadBytes;
	const isDigest =
		typeof digest === "string" && new RegExp(sha256.pattern).test(digest);
	return [
		...unknown(`${at}.`, others),
		...(isDigest
			? []
			: [{ path: `${at}.sha256`, message: patternWords(sha256.pattern)! }]),
		...(isSize
			? []
			: [
					{
						path: `${at}.bytes`,
						message: `must be a whole number between 1 and ${maxUploadBytes}`,
					},
				]),
	];
}

function unknown(at: string, fields: object): ErrorDetail[] {
	return Object.keys(fields).map((name) => ({
		path: at + name,
		message: "is not a known field",
	}));
}

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
