import type { TlsServer } from "../../../service/metrics/certificate.ts";
import { SettingError, type Settings } from "../../../service/settings.ts";
import { readAuthorities } from "../../../service/trusted-authorities.ts";
import type { Encryption, ObjectStoreSettings } from "./s3-client.ts";

/**
 * Reads how to reach the bucket; throws {@link SettingError}. The AWS SDK finds the credentials itself. docs/s3.md lists
 * all variables.
 */
export function readStoreSettings(settings: Settings): ObjectStoreSettings {
	const endpoint =
		settings.optional("S3_ENDPOINT") && settings.url("S3_ENDPOINT");
	const authorities = readAuthorities(settings, "S3_CA_FILE");
	const encryption = readEncryption(settings);
	return {
		bucket: settings.text("S3_BUCKET"),
		region: settings.text("AWS_REGION"),
		...(endpoint && { endpoint }),
		// Stores other than AWS seldom have a host name for each bucket.
		forcePathStyle: settings.boolean(
			"S3_FORCE_PATH_STYLE",
			endpoint !== undefined,
		),
		...(authorities && { authorities }),
		...(encryption && { encryption }),
		timeoutMs: settings.integer("S3_TIMEOUT_MS", {
			min: 100,
			max: 600_000,
			fallback: 30_000,
		}),
	};
}

/** The store's server, to look at its certificate; none for AWS's own, which AWS looks after. */
export function tlsServersOf({
	endpoint,
	authorities,
}: ObjectStoreSettings): TlsServer[] {
	const url = endpoint === undefined ? undefined : new URL(endpoint);
	if (url?.protocol !== "https:") return [];
	const host = url.hostname.replace(/^\[|\]$/g, "");
	const port = Number(url.port || 443);
	return [{ host, port, greets: false, authorities }];
}

const algorithms = ["AES256", "aws:kms", "aws:kms:dsse"] as const;

function readEncryption(settings: Settings): Encryption | undefined {
	const algorithm = settings.optional("S3_SSE");
	const kmsKeyId = settings.optional("S3_SSE_KMS_KEY_ID");
	const hasBucketKey = settings.optional("S3_SSE_BUCKET_KEY") !== undefined;
	if (algorithm !== undefined && !isAlgorithm(algorithm))
		throw new SettingError(
			`S3_SSE is "${algorithm}". It must be one of ${algorithms.join(", ")}, or not set for the bucket's default.`,
		);
	const usesKms = algorithm === "aws:kms" || algorithm === "aws:kms:dsse";
	if (kmsKeyId !== undefined && !usesKms)
		throw new SettingError(
			`S3_SSE_KMS_KEY_ID is set, but S3_SSE is ${algorithm ? `"${algorithm}"` : "not"}. A KMS key is used with S3_SSE=aws:kms or aws:kms:dsse.`,
		);
	// AWS: "S3 Bucket Keys aren't supported for DSSE-KMS."
	if (hasBucketKey && algorithm !== "aws:kms")
		throw new SettingError(
			`S3_SSE_BUCKET_KEY is set, but S3_SSE is ${algorithm ? `"${algorithm}"` : "not"}. A bucket key is used with S3_SSE=aws:kms.`,
		);
	if (algorithm === undefined) return undefined;
	return {
		algorithm,
		...(kmsKeyId && { kmsKeyId }),
		...(hasBucketKey && {
			bucketKey: settings.boolean("S3_SSE_BUCKET_KEY", false),
		}),
	};
}

function isAlgorithm(text: string): text is Encryption["algorithm"] {
	return (algorithms as readonly string[]).includes(text);
}
