import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import type { TlsServer } from "../service/certificate-metrics.ts";
import type { Logger } from "../service/log.ts";
import {
	readAuthorities,
	SecretFiles,
	trustAuthorities,
} from "../service/secret-files.ts";
import { SettingError, type Settings } from "../service/settings.ts";
import type {
	ObjectStoreSettings,
	StoreEncryption,
	StoreKeys,
} from "./s3-client.ts";

/**
 * Reads how to reach the bucket; throws {@link SettingError}. Without S3_KEYS_DIR, the AWS SDK finds the credentials itself.
 * docs/s3.md lists all variables.
 */
export function readStoreSettings(
	settings: Settings,
	log: Logger,
): ObjectStoreSettings {
	const endpoint =
		settings.optional("S3_ENDPOINT") && settings.url("S3_ENDPOINT");
	const authorities = readAuthorities(settings, "S3_CA_FILE", log);
	authorities?.onChange(trustAuthorities);
	const keysDirectory = settings.optional("S3_KEYS_DIR");
	const encryption = readEncryption(settings);
	return {
		bucket: settings.text("S3_BUCKET"),
		prefix: readPrefix(settings.text("S3_PREFIX", "tidemill")),
		region: settings.text("AWS_REGION"),
		...(endpoint && { endpoint }),
		// Stores other than AWS seldom have a host name for each bucket.
		forcePathStyle: settings.boolean(
			"S3_FORCE_PATH_STYLE",
			endpoint !== undefined,
		),
		get authorities() {
			return authorities?.value;
		},
		...(keysDirectory && { keys: readKeys(keysDirectory, log) }),
		...(encryption && { encryption }),
		timeoutMs: settings.integer("S3_TIMEOUT_MS", [100, 600_000], 30_000),
	};
}

/** Archive and the bucket's lifecycle rule remove what expires there, so a folder keeps them off what others store. */
function readPrefix(text: string): string {
	const prefix = text.replace(/^\/+|\/+$/g, "");
	if (prefix === "")
		throw new SettingError(
			`S3_PREFIX is "${text}". It must be a folder of the bucket that Tidemill has to itself, like tidemill.`,
		);
	return prefix;
}

/** The store's server, to look at its certificate; none for AWS's own, which AWS looks after. */
export function tlsServersOf(store: ObjectStoreSettings): TlsServer[] {
	const { endpoint } = store;
	const url = endpoint === undefined ? undefined : new URL(endpoint);
	if (url?.protocol !== "https:") return [];
	const host = url.hostname.replace(/^\[|\]$/g, "");
	const port = Number(url.port || 443);
	return [
		{
			host,
			port,
			greets: false,
			get authorities() {
				return store.authorities;
			},
		},
	];
}

function readKeys(directory: string, log: Logger): SecretFiles<StoreKeys> {
	const file = (name: string) => join(directory, name);
	const token = file("sessionToken");
	const files = [file("accessKeyId"), file("secretAccessKey")];
	return new SecretFiles({
		setting: "S3_KEYS_DIR",
		files: () => (existsSync(token) ? [...files, token] : files),
		parse: (read, found) => {
			const [accessKeyId = "", secretAccessKey = "", sessionToken = ""] =
				found.map((file) => keyIn(directory, file, read));
			return {
				accessKeyId,
				secretAccessKey,
				...(sessionToken && { sessionToken }),
			};
		},
		log,
	});
}

function keyIn(
	directory: string,
	file: string,
	read: (file: string) => string,
): string {
	const refuse = (fault: string) =>
		new SettingError(
			`S3_KEYS_DIR is "${directory}", where ${basename(file)} ${fault}. It must name a folder with the files accessKeyId and secretAccessKey, and sessionToken if the keys have one.`,
		);
	let text: string;
	try {
		text = read(file).trim();
	} catch (error) {
		throw refuse(`can't be read (${(error as Error).message})`);
	}
	if (text === "") throw refuse("is empty");
	return text;
}

const algorithms = ["AES256", "aws:kms", "aws:kms:dsse"] as const;

function readEncryption(settings: Settings): StoreEncryption | undefined {
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

function isAlgorithm(text: string): text is StoreEncryption["algorithm"] {
	return (algorithms as readonly string[]).includes(text);
}

/** Names the bucket and the folder, for people. */
export function placeOf({
	bucket,
	prefix = "",
}: Pick<ObjectStoreSettings, "bucket" | "prefix">): string {
	return `s3://${bucket}/${prefix}`;
}
