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

/**
 * Returns the result of `consume` on an object's content, or undefined if there is no object. If the content breaks off or
 * its checksum is wrong, the object is read again, and `consume` is called again.
 */
export async function readObject<T>(
	client: S3Client,
	object: { Bucket: string; Key: string },
	consume: (body: ObjectBody) => Promise<T>,
	abortSignal: AbortSignal,
): Promise<T | undefined> {
	for (let attempt = 1; ; attempt++) {
		let hasBegun = false;
		try {
			const command = new GetObjectCommand(object);
			const { Body } = await client.send(command, { abortSignal });
			hasBegun = true;
			return await consume(Body!);
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
