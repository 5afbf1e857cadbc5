// @aws-sdk/client-s3: the S3 maker's own client, with its credential chain, retries and checksums.
import { type PutObjectCommandInput, S3Client } from "@aws-sdk/client-s3";
import { trustAuthorities } from "../../../service/trusted-authorities.ts";

export interface ObjectStoreSettings {
	bucket: string;
	region: string;
	/** Absent for AWS. */
	endpoint?: string;
	/** `<endpoint>/<bucket>/<key>` instead of `<bucket>.<endpoint>/<key>`. */
	forcePathStyle: boolean;
	/** PEM certificates of authorities that sign the store's, beside the public ones; the whole process trusts them. */
	authorities?: string;
	/** How the store is asked to encrypt; absent for the bucket's own default. */
	encryption?: Encryption;
	/** How long the store may be silent. */
	timeoutMs?: number;
}

export interface Encryption {
	algorithm: "AES256" | "aws:kms" | "aws:kms:dsse";
	/** Id or ARN; the account's own key for S3 when absent. */
	kmsKeyId?: string;
	/** One data key for many objects, so that KMS is asked less often. */
	bucketKey?: boolean;
}

/** The SDK sends a CRC32 with what is written and compares it on what is read; AWS_REQUEST_CHECKSUM_CALCULATION and AWS_RESPONSE_CHECKSUM_VALIDATION change that. */
export function newS3Client(settings: ObjectStoreSettings): S3Client {
	const { region, endpoint, forcePathStyle, authorities } = settings;
	const { timeoutMs = 30_000 } = settings;
	if (authorities) trustAuthorities(authorities);
	return new S3Client({
		region,
		forcePathStyle,
		...(endpoint && { endpoint }),
		// Exponential backoff with jitter; what lasts longer is the shard's to repeat.
		retryMode: "standard",
		maxAttempts: 4,
		requestHandler: {
			connectionTimeout: 5_000,
			// Silence on the line, not the whole of a large upload.
			socketTimeout: timeoutMs,
			throwOnRequestTimeout: true,
			requestTimeout: 4 * timeoutMs,
		},
	});
}

/** What an object's first request, PUT or CreateMultipartUpload, says of its encryption. */
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
