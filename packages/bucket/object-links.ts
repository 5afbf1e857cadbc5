import { setImmediate } from "node:timers/promises";
import {
	GetObjectCommand,
	PutObjectCommand,
	type S3Client,
} from "@aws-sdk/client-s3";
// @aws-sdk/s3-request-presigner: the SDK's companion package for presigned URLs.
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import {
	encryptionHeaders,
	encryptionOf,
	newS3Client,
	type ObjectStoreSettings,
} from "./s3-client.ts";

const checksumHeader = "x-amz-checksum-sha256";

/** A URL with which anybody can write one object of a fixed length, if they send the headers, too. A secret. */
export interface PutLink {
	url: string;
	headers: Record<string, string>;
}

/** A link takes half a millisecond of CPU, and a manifest may have ten thousand of them. */
const linksOfTurn = 16;

/** Makes presigned URLs. Sends no request to the bucket, so it makes a few in each turn of the event loop, whoever asks. */
export class ObjectLinks {
	readonly #settings: ObjectStoreSettings;
	readonly #client: S3Client;
	readonly #putClient: S3Client;
	#leftOfTurn = linksOfTurn;
	#nextTurn: Promise<void> | undefined;

	constructor(client: S3Client, settings: ObjectStoreSettings) {
		this.#client = client;
		this.#settings = settings;
		this.#putClient = newS3Client(settings, {
			credentials: client.config.credentials,
			// By default the SDK signs the checksum of the body, which it doesn't have.
			requestChecksumCalculation: "WHEN_REQUIRED",
		});
	}

	/** A URL that reads an object. */
	async get(key: string, expiresInSeconds: number): Promise<string> {
		while (this.#leftOfTurn === 0) {
			this.#nextTurn ??= setImmediate().then(() => {
				this.#leftOfTurn = linksOfTurn;
				this.#nextTurn = undefined;
			});
			await this.#nextTurn;
		}
		this.#leftOfTurn--;
		return getSignedUrl(
			this.#client,
			new GetObjectCommand({ Bucket: this.#settings.bucket, Key: key }),
			{ expiresIn: expiresInSeconds },
		);
	}

	async put(
		key: string,
		bytes: number,
		expiresInSeconds: number,
		sha256?: string,
	): Promise<PutLink> {
		const checksum = sha256 && Buffer.from(sha256, "hex").toString("base64");
		const put = new PutObjectCommand({
			Bucket: this.#settings.bucket,
			Key: key,
			ContentLength: bytes,
			...(checksum && { ChecksumSHA256: checksum }),
			...encryptionOf(this.#settings),
		});
		// The bucket compares the content with a header, and not with a parameter.
		const signing = {
			expiresIn: expiresInSeconds,
			unhoistableHeaders: new Set([checksumHeader]),
		};
		return {
			url: await getSignedUrl(this.#putClient, put, signing),
			headers: {
				...encryptionHeaders(this.#settings),
				...(checksum && { [checksumHeader]: checksum }),
			},
		};
	}

	/** How long a URL made now can work, and at most as long as wanted: a URL ends with the credentials that signed it. */
	async seconds(wanted: number): Promise<number> {
		const { credentials } = this.#client.config;
		const leftSeconds = ({ expiration }: { expiration?: Date }) =>
			expiration ? (expiration.getTime() - Date.now()) / 1000 : Infinity;
		const current = await credentials();
		if (leftSeconds(current) >= wanted) return wanted;
		// Renewed credentials last longer.
		const renewed = await credentials({ forceRefresh: true });
		return Math.min(wanted, Math.floor(leftSeconds(renewed)));
	}
}
