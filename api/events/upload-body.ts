import {
	digestForm,
	maxImportFiles,
	maxUploadBytes,
	type UploadRequest,
} from "../../packages/contracts/transfer.ts";
import { requireRight } from "../caller/account.ts";
import type { Handler } from "../http/endpoint.ts";
import { RequestError } from "../http/errors.ts";
import { linksOf } from "./export-files.ts";

interface FieldError {
	path: string;
	message: string;
}

/** The files that a body asks for. Throws a 400 that names each wrong field. */
export function filesOf(body: unknown): UploadRequest["files"] {
	const { files } = fieldsOf(body) ?? {};
	const isList =
		Array.isArray(files) && files.length >= 1 && files.length <= maxImportFiles;
	const errors = [
		...unknownIn(body, ["files"], ""),
		...(isList
			? files.flatMap((file, index) => errorsOf(file, `files[${index}]`))
			: [
					{
						path: "files",
						message: `must be a list of 1 to ${maxImportFiles} files`,
					},
				]),
	];
	if (errors.length > 0)
		throw new RequestError(
			"InvalidRequest",
			"The uploads are invalid. Correct the fields in details.",
			{ details: errors },
		);
	return files as UploadRequest["files"];
}

function errorsOf(file: unknown, path: string): FieldError[] {
	const fields = fieldsOf(file);
	if (!fields) return [{ path, message: "must be an object" }];
	const { sha256, bytes } = fields;
	const isDigest = typeof sha256 === "string" && digestForm.test(sha256);
	const isSize =
		Number.isInteger(bytes) &&
		(bytes as number) >= 1 &&
		(bytes as number) <= maxUploadBytes;
	return [
		...unknownIn(file, ["sha256", "bytes"], `${path}.`),
		...(isDigest
			? []
			: [
					{
						path: `${path}.sha256`,
						message:
							"must be the SHA-256 of the file, 64 lower-case hex digits",
					},
				]),
		...(isSize
			? []
			: [
					{
						path: `${path}.bytes`,
						message: `must be an integer from 1 to ${maxUploadBytes}`,
					},
				]),
	];
}

function unknownIn(
	value: unknown,
	known: string[],
	prefix: string,
): FieldError[] {
	return Object.keys(fieldsOf(value) ?? {})
		.filter((name) => !known.includes(name))
		.map((name) => ({
			path: prefix + name.slice(0, 256),
			message: "is not a known field",
		}));
}

function fieldsOf(value: unknown): Record<string, unknown> | undefined {
	return typeof value === "object" && value !== null && !Array.isArray(value)
		? (value as Record<string, unknown>)
		: undefined;
}

/**
 * `POST /v1/uploads`: links to put files into the bucket, for an Import that names them by their SHA-256. It needs the right to
 * create Operations.
 */
export const createUploads: Handler = async (request, reply) => {
	const { body } = request;
	await requireRight(request, { verb: "create", resource: "operations" });
	const files = filesOf(body);
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
