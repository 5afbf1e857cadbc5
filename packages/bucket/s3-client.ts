// @aws-sdk/client-s3: the S3 maker's own client, with its credential chain, retries and checksums.
import {
	type PutObjectCommandInput,
	S3Client,
	type S3ClientConfig,
} from "@aws-sdk/client-s3";
import { type SecretFiles, trustAuthorities } from "../service/secret-files.ts";

export interface ObjectStoreSettings {
	bucket: string;
	/** Folder of all keys, without leading and trailing slashes; absent for a bucket of its own. */
	prefix?: string;
	region: string;
	/** Absent for AWS. */
	endpoint?: string;
	/** `<endpoint>/<bucket>/<key>` instead of `<bucket>.<endpoint>/<key>`. */
	forcePathStyle: boolean;
	/** PEM certificates of authorities that the whole process trusts in addition to the public ones. */
	readonly authorities?: string | undefined;
	/** The keys of S3_KEYS_DIR; absent if the SDK finds credentials itself. */
	keys?: Pick<SecretFiles<StoreKeys>, "value" | "refused">;
	/** The encryption to request; absent for the bucket's default. */
	encryption?: StoreEncryption;
	/** How long the connection may be silent. */
	timeoutMs?: number;
}

export interface StoreKeys {
	accessKeyId: string;
	secretAccessKey: string;
	sessionToken?: string;
}

export interface StoreEncryption {
	algorithm: "AES256" | "aws:kms" | "aws:kms:dsse";
	/** Id or ARN; absent for the account's default S3 key. */
	kmsKeyId?: string;
	/** Uses one data key for many objects, which saves requests to KMS. */
	bucketKey?: boolean;
}

/**
 * The SDK sends a CRC32 with each write and compares it on each read. AWS_REQUEST_CHECKSUM_CALCULATION and
 * AWS_RESPONSE_CHECKSUM_VALIDATION change that.
 */
export function newS3Client(
	settings: ObjectStoreSettings,
	config: S3ClientConfig = {},
): S3Client {
	const { region, endpoint, forcePathStyle, authorities, keys } = settings;
	const { timeoutMs = 30_000 } = settings;
	if (authorities) trustAuthorities(authorities);
	return new S3Client({
		region,
		forcePathStyle,
		...(endpoint && { endpoint }),
		// The SDK would remember what a provider returns. "memoized" tells it that this one does so itself.
		...(keys && {
			credentials: Object.assign(async () => keys.value, { memoized: true }),
		}),
		// Exponential backoff with jitter. The shard retries longer outages.
		retryMode: "standard",
		maxAttempts: 4,
		requestHandler: {
			connectionTimeout: 5_000,
			// Limits silence on the connection, not the duration of a large upload.
			socketTimeout: timeoutMs,
			throwOnRequestTimeout: true,
			requestTimeout: 4 * timeoutMs,
		},
		...config,
	});
}

/** The encryption parameters of PutObject and CreateMultipartUpload. */
export function encryptionOf({
	encryption,
}: ObjectStoreSettings): Pick<
	PutObjectCommandInput,
	"ServerSideEncryption" | "SSEKMSKeyId" | "BucketKeyEnabled"
> {
	if (!encryption) return {};
	const { algorithm, kmsKeyId, bucketKey } = encryption;
	return {
		ServerSideEncryption: algorithm,
		...(kmsKeyId && { SSEKMSKeyId: kmsKeyId }),
		...(bucketKey !== undefined && { BucketKeyEnabled: bucketKey }),
	};
}

/** The same as headers, for who writes with a presigned URL. */
export function encryptionHeaders({
	encryption,
}: ObjectStoreSettings): Record<string, string> {
	if (!encryption) return {};
	const { algorithm, kmsKeyId, bucketKey } = encryption;
	const header = "x-amz-server-side-encryption";
	return {
		[header]: algorithm,
		...(kmsKeyId && { [`${header}-aws-kms-key-id`]: kmsKeyId }),
		...(bucketKey !== undefined && {
			[`${header}-bucket-key-enabled`]: String(bucketKey),
		}),
	};
}
