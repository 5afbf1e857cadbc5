import { readFile } from "node:fs/promises";
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
} from "../../../packages/contracts/manifest.ts";
import type { TestS3 } from "../../../test/support/servers/servers.ts";

/** Puts files into a bucket. */
export class ObjectUpload {
	readonly #client: S3Client;
	readonly #bucket: string;

	constructor(s3: TestS3) {
		const { endpoint, region, bucket, accessKeyId, secretAccessKey } = s3;
		this.#bucket = bucket;
		this.#client = new S3Client({
			endpoint,
			region,
			forcePathStyle: true,
			credentials: { accessKeyId, secretAccessKey },
		});
	}

	/** Returns the object of a file with so many events as a manifest names it. */
	async put(file: string, rows: number): Promise<ManifestObject> {
		// A stream couldn't be sent again after a failed request.
		const body = await readFile(file);
		const { length: bytes } = body;
		const object = { Bucket: this.#bucket, Key: basename(file) };
		await this.#client.send(
			new PutObjectCommand({
				...object,
				Body: body,
			}),
		);
		const url = await getSignedUrl(this.#client, new GetObjectCommand(object));
		return { key: object.Key, url, rows, bytes };
	}

	close(): void {
		this.#client.destroy();
	}
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
