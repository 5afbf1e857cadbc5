import { open } from "node:fs/promises";
import {
	AbortMultipartUploadCommand,
	type CompletedPart,
	CompleteMultipartUploadCommand,
	CreateMultipartUploadCommand,
	type CreateMultipartUploadCommandInput,
	ListMultipartUploadsCommand,
	type ListMultipartUploadsCommandOutput,
	NoSuchUpload,
	type S3Client,
	UploadPartCommand,
} from "@aws-sdk/client-s3";

/** S3 takes up to 10,000 parts of at least 5 MiB; these make 156 GiB. Memory holds one part. */
export const partBytes = 16 * 1024 * 1024;

/**
 * Uploads parts, which the SDK repeats one by one, and makes an object of them. Throws the store's 412 if the key exists,
 * unless the object need not be new.
 * Aborts the upload after a failure; retention's sweep aborts uploads of killed processes.
 */
export async function uploadInParts(
	client: S3Client,
	target: CreateMultipartUploadCommandInput & {
		Bucket: string;
		Key: string;
	},
	parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
	abortSignal: AbortSignal,
	isNew = true,
): Promise<void> {
	const { Bucket, Key } = target;
	const { UploadId } = await client.send(
		new CreateMultipartUploadCommand({
			...target,
			ChecksumAlgorithm: "CRC32",
			// A checksum of the whole object, like that of a single PUT.
			ChecksumType: "FULL_OBJECT",
		}),
		{ abortSignal },
	);
	const upload = { Bucket, Key, UploadId };
	try {
		const Parts: CompletedPart[] = [];
		for await (const Body of parts) {
			const PartNumber = Parts.length + 1;
			const { ETag, ChecksumCRC32 } = await client.send(
				new UploadPartCommand({
					...upload,
					PartNumber,
					Body,
					ChecksumAlgorithm: "CRC32",
				}),
				{ abortSignal },
			);
			Parts.push({ PartNumber, ETag, ChecksumCRC32 });
		}
		const { ETag } = await client.send(
			new CompleteMultipartUploadCommand({
				...upload,
				MultipartUpload: { Parts },
				ChecksumType: "FULL_OBJECT",
				...(isNew && { IfNoneMatch: "*" }),
			}),
			{ abortSignal },
		);
		// Of an error within a 200 in a form that the SDK doesn't know.
		if (!ETag) throw new Error(`The store names no object of ${Key}`);
	} catch (error) {
		await client
			.send(new AbortMultipartUploadCommand(upload))
			.catch(() => undefined);
		throw error;
	}
}

/** The parts of a file, which must not be empty. */
export async function* partsOf(file: string): AsyncGenerator<Uint8Array> {
	const handle = await open(file);
	try {
		for (let at = 0; ; ) {
			const buffer = Buffer.allocUnsafe(partBytes);
			const { bytesRead } = await handle.read(buffer, 0, partBytes, at);
			if (bytesRead === 0) return;
			at += bytesRead;
			yield buffer.subarray(0, bytesRead);
		}
	} finally {
		await handle.close();
	}
}

/** Aborts the unfinished uploads under a prefix that began before `beforeMs`. Returns how many. */
export async function abortUploads(
	client: S3Client,
	within: { Bucket: string; Prefix: string },
	beforeMs: number,
	abortSignal: AbortSignal,
): Promise<number> {
	let aborted = 0;
	let from: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {};
	while (from) {
		// A page has at most 1,000 (API reference, ListMultipartUploads).
		const page: ListMultipartUploadsCommandOutput = await client.send(
			new ListMultipartUploadsCommand({ ...within, ...from }),
			{ abortSignal },
		);
		for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
			if (!Initiated || Initiated.getTime() >= beforeMs) continue;
			const upload = { Bucket: within.Bucket, Key, UploadId };
			await client
				.send(new AbortMultipartUploadCommand(upload), { abortSignal })
				.catch((error) => {
					// The upload was finished or aborted meanwhile.
					if (!(error instanceof NoSuchUpload)) throw error;
				});
			aborted++;
		}
		const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } =
			page;
		// A store that names no next place has no more.
		from =
			page.IsTruncated && KeyMarker
				? { KeyMarker, ...(UploadIdMarker && { UploadIdMarker }) }
				: undefined;
	}
	return aborted;
}
