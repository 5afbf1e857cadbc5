import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import type { Readable } from "node:stream";
import {
	GetObjectCommand,
	type GetObjectCommandOutput,
	NoSuchKey,
	type S3Client,
} from "@aws-sdk/client-s3";
import { backOff } from "./conditional-write.ts";

export type ObjectBody = NonNullable<GetObjectCommandOutput["Body"]>;

const attempts = 4;

/** Some bytes of an object. */
export interface ObjectPart {
	bytes: Uint8Array<ArrayBuffer>;
	/** Of the whole object. */
	totalBytes: number;
}

/** @param range as in RFC 9110 §14.1.2: `bytes=0-99`, or `bytes=-100` for the last 100. Undefined if there is no object. */
export function readPart(
	client: S3Client,
	object: { Bucket: string; Key: string },
	range: string,
	abortSignal: AbortSignal,
): Promise<ObjectPart | undefined> {
	return readObject(
		client,
		{ ...object, Range: range },
		async (body, { ContentRange, ContentLength }) => {
			const bytes = Uint8Array.from(await body.transformToByteArray());
			const total = /\/(\d+)$/.exec(ContentRange ?? "")?.[1];
			return { bytes, totalBytes: Number(total ?? ContentLength) };
		},
		abortSignal,
	);
}

/**
 * Returns the result of `consume` on an object's content, or undefined if there is no object. If the content breaks off or
 * its checksum is wrong, the object is read again, and `consume` is called again.
 */
export async function readObject<T>(
	client: S3Client,
	object: { Bucket: string; Key: string; Range?: string },
	consume: (body: ObjectBody, head: GetObjectCommandOutput) => Promise<T>,
	abortSignal: AbortSignal,
): Promise<T | undefined> {
	for (let attempt = 1; ; attempt++) {
		let hasBegun = false;
		try {
			const command = new GetObjectCommand(object);
			const output = await client.send(command, { abortSignal });
			hasBegun = true;
			return await consume(output.Body!, output);
		} catch (error) {
			if (error instanceof NoSuchKey) return undefined;
			// The SDK has repeated failures that come before the content.
			if (!hasBegun || attempt === attempts) throw error;
			await backOff(attempt, abortSignal);
		}
	}
}

/** SHA-256 of the content, hex. Writes the content into `file` if it is given. */
export async function digest(body: ObjectBody, file?: string): Promise<string> {
	const hash = createHash("sha256");
	const target = file === undefined ? undefined : await open(file, "w");
	try {
		for await (const chunk of body as Readable) {
			hash.update(chunk);
			await target?.appendFile(chunk);
		}
	} finally {
		await target?.close();
	}
	return hash.digest("hex");
}

/** SHA-256 of a file's content, hex. */
export async function fileDigest(file: string): Promise<string> {
	const hash = createHash("sha256");
	for await (const chunk of createReadStream(file)) hash.update(chunk);
	return hash.digest("hex");
}
