import {
	PutObjectCommand,
	type S3Client,
	type S3ClientConfig,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import {
	encryptionHeaders,
	encryptionOf,
	newS3Client,
	type ObjectStoreSettings,
} from "./s3-client.ts";

/** A URL with which anybody can write one object of a fixed length, if they send the headers, too. A secret. */
export interface PutLink {
	url: string;
	headers: Record<string, string>;
}

/** Makes presigned PUTs. Sends nothing. */
export class PutSigner {
	readonly #settings: ObjectStoreSettings;
	readonly #client: S3Client;

	constructor(
		settings: ObjectStoreSettings,
		credentials: NonNullable<S3ClientConfig["credentials"]>,
	) {
		this.#settings = settings;
		this.#client = newS3Client(settings, {
			credentials,
			// By default the SDK signs the checksum of the body, which it doesn't have.
			requestChecksumCalculation: "WHEN_REQUIRED",
		});
	}

	async sign(
		key: string,
		bytes: number,
		expiresInSeconds: number,
	): Promise<PutLink> {
		const put = new PutObjectCommand({
			Bucket: this.#settings.bucket,
			Key: key,
			ContentLength: bytes,
			...encryptionOf(this.#settings),
		});
		const expiry = { expiresIn: expiresInSeconds };
		return {
			url: await getSignedUrl(this.#client, put, expiry),
			headers: encryptionHeaders(this.#settings),
		};
	}
}
