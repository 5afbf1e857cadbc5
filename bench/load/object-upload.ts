import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import {
	GetObjectCommand,
	PutObjectCommand,
	S3Client,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import type {
	Manifest,
	ManifestDate,
	ManifestObject,
} from "../../contracts/manifest.ts";
import type { TestS3 } from "../../test/support/servers/servers.ts";

/** Puts a file with so many events into the bucket, and returns it as a manifest names it. */
export async function uploadObject(
	s3: TestS3,
	file: string,
	rows: number,
): Promise<ManifestObject> {
	const { endpoint, region, bucket, accessKeyId, secretAccessKey } = s3;
	const client = new S3Client({
		endpoint,
		region,
		forcePathStyle: true,
		credentials: { accessKeyId, secretAccessKey },
	});
	const { size: bytes } = await stat(file);
	const object = { Bucket: bucket, Key: basename(file) };
	await client.send(
		new PutObjectCommand({
			...object,
			Body: createReadStream(file),
			ContentLength: bytes,
		}),
	);
	const url = await getSignedUrl(client, new GetObjectCommand(object));
	client.destroy();
	return { key: object.Key, url, rows, bytes };
}

export function manifestOf(dates: ManifestDate[]): Manifest {
	return {
		version: 1,
		run: "",
		account: "bench",
		sourceKey: "0".repeat(32),
		snapshotTime: new Date().toISOString(),
		closedThrough: dates.at(-1)!.date,
		expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
		asked: { extent: "Whole" },
		dates,
	};
}
