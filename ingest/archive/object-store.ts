// @aws-sdk/client-s3: the S3 maker's own client, with its credential chain, retries and checksums.
import {
	DeleteObjectsCommand,
	GetBucketLifecycleConfigurationCommand,
	GetObjectCommand,
	type LifecycleRule,
	ListObjectsV2Command,
	NoSuchKey,
	PutBucketLifecycleConfigurationCommand,
	PutObjectCommand,
	S3Client,
	S3ServiceException,
} from "@aws-sdk/client-s3";
// Presigning is the SDK's own companion package.
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";

export interface ObjectStoreSettings {
	bucket: string;
	region: string;
	/** Absent for AWS. */
	endpoint?: string;
	/** `<endpoint>/<bucket>/<key>` instead of `<bucket>.<endpoint>/<key>`. */
	forcePathStyle: boolean;
}

export interface ListedObject {
	key: string;
	bytes: number;
	/** When the store took it, by the store's clock; milliseconds since the epoch. */
	modifiedMs: number;
}

/** The store of one bucket, as archive uses it: objects are made once, and never changed. */
export interface ObjectStore {
	/** Writes an object unless its key is taken; "exists" when it was. */
	putNew(
		key: string,
		body: Uint8Array | string,
		contentType: string,
	): Promise<"created" | "exists">;
	/** The object's content, or undefined when there is none. */
	get(key: string): Promise<string | undefined>;
	/** Objects whose keys begin with `prefix`, in the order of their keys, from the one behind `after`. */
	list(prefix: string, after?: string): AsyncIterable<ListedObject>;
	/** A URL with which anybody can GET the object for that long. A secret. */
	presign(key: string, expiresInSeconds: number): Promise<string>;
	/** Deletes up to 1,000 objects; one that isn't there is no error. */
	remove(keys: readonly string[]): Promise<void>;
}

/** What a store removes by itself. */
export interface LifecycleStore {
	/** The bucket's rules, also those of others; undefined when the store has none to offer, or archive may not see them. */
	lifecycleRules(): Promise<LifecycleRule[] | undefined>;
	/** Replaces all of the bucket's rules. False when archive may not. */
	setLifecycleRules(rules: LifecycleRule[]): Promise<boolean>;
}

export class S3ObjectStore implements ObjectStore, LifecycleStore {
	readonly #client: S3Client;
	readonly #settings: ObjectStoreSettings;
	readonly #abortSignal: AbortSignal;

	/** @param abortSignal Calls off what is under way; nothing can be asked after it. */
	constructor(settings: ObjectStoreSettings, abortSignal: AbortSignal) {
		const { region, endpoint, forcePathStyle } = settings;
		this.#settings = settings;
		this.#abortSignal = abortSignal;
		this.#client = new S3Client({
			region,
			forcePathStyle,
			...(endpoint && { endpoint }),
			// Exponential backoff with jitter; what lasts longer is the shard's to repeat.
			retryMode: "standard",
			maxAttempts: 4,
			requestHandler: {
				connectionTimeout: 5_000,
				// Silence on the line, not the whole of a large upload.
				socketTimeout: 30_000,
				throwOnRequestTimeout: true,
				requestTimeout: 120_000,
			},
		});
	}

	async putNew(
		key: string,
		body: Uint8Array | string,
		contentType: string,
	): Promise<"created" | "exists"> {
		try {
			await this.#client.send(
				new PutObjectCommand({
					Bucket: this.#settings.bucket,
					Key: key,
					Body: body,
					ContentType: contentType,
					IfNoneMatch: "*",
				}),
				{ abortSignal: this.#abortSignal },
			);
			return "created";
		} catch (error) {
			if (statusOf(error) === 412) return "exists";
			throw this.#named(error, `write ${key}`);
		}
	}

	async get(key: string): Promise<string | undefined> {
		try {
			const { Body } = await this.#client.send(
				new GetObjectCommand({ Bucket: this.#settings.bucket, Key: key }),
				{ abortSignal: this.#abortSignal },
			);
			return await Body?.transformToString();
		} catch (error) {
			if (error instanceof NoSuchKey) return undefined;
			throw this.#named(error, `read ${key}`);
		}
	}

	async *list(prefix: string, after?: string): AsyncGenerator<ListedObject> {
		let token: string | undefined;
		do {
			const page = await this.#client
				.send(
					new ListObjectsV2Command({
						Bucket: this.#settings.bucket,
						Prefix: prefix,
						StartAfter: after,
						ContinuationToken: token,
					}),
					{ abortSignal: this.#abortSignal },
				)
				.catch((error) => {
					throw this.#named(error, `list ${prefix}`);
				});
			for (const { Key, Size, LastModified } of page.Contents ?? [])
				if (Key !== undefined)
					yield {
						key: Key,
						bytes: Size ?? 0,
						// One of unknown age is as young as can be.
						modifiedMs: LastModified?.getTime() ?? Infinity,
					};
			token = page.NextContinuationToken;
		} while (token !== undefined);
	}

	async presign(key: string, expiresInSeconds: number): Promise<string> {
		return getSignedUrl(
			this.#client,
			new GetObjectCommand({ Bucket: this.#settings.bucket, Key: key }),
			{ expiresIn: expiresInSeconds },
		);
	}

	async remove(keys: readonly string[]): Promise<void> {
		if (keys.length === 0) return;
		const { Errors = [] } = await this.#client
			.send(
				new DeleteObjectsCommand({
					Bucket: this.#settings.bucket,
					Delete: { Objects: keys.map((Key) => ({ Key })), Quiet: true },
				}),
				{ abortSignal: this.#abortSignal },
			)
			.catch((error) => {
				throw this.#named(error, `delete ${keys[0]}`);
			});
		const [first] = Errors;
		if (first)
			throw this.#named(
				Object.assign(new Error(first.Message), { name: first.Code }),
				`delete ${first.Key}`,
			);
	}

	async lifecycleRules(): Promise<LifecycleRule[] | undefined> {
		try {
			const { Rules } = await this.#client.send(
				new GetBucketLifecycleConfigurationCommand({
					Bucket: this.#settings.bucket,
				}),
				{ abortSignal: this.#abortSignal },
			);
			return Rules ?? [];
		} catch (error) {
			if (nameOf(error) === "NoSuchLifecycleConfiguration") return [];
			if (lacksLifecycle(error)) return undefined;
			throw this.#named(error, "read the lifecycle rules");
		}
	}

	async setLifecycleRules(Rules: LifecycleRule[]): Promise<boolean> {
		try {
			await this.#client.send(
				new PutBucketLifecycleConfigurationCommand({
					Bucket: this.#settings.bucket,
					LifecycleConfiguration: { Rules },
				}),
				{ abortSignal: this.#abortSignal },
			);
			return true;
		} catch (error) {
			if (lacksLifecycle(error)) return false;
			throw this.#named(error, "write the lifecycle rules");
		}
	}

	close(): void {
		this.#client.destroy();
	}

	/** The store's error with what was tried where, and what to do about the known ones. */
	#named(error: unknown, action: string): Error {
		const { bucket, endpoint } = this.#settings;
		const name = nameOf(error);
		const said = error instanceof Error ? error.message : String(error);
		return new Error(
			`S3: could not ${action} in bucket ${bucket}${endpoint ? ` at ${endpoint}` : ""}: ${name === "Error" ? "" : `${name}: `}${said.replace(/\.?$/, ".")}${advice[name] ? ` ${advice[name]}` : ""}`,
			{ cause: error },
		);
	}
}

/** By the error codes of the S3 API reference, "List of error codes", and of the SDK. */
const advice: Record<string, string> = {
	NoSuchBucket: "Create the bucket, or set S3_BUCKET to the one to use.",
	CredentialsProviderError:
		"Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the service account a role.",
	InvalidAccessKeyId: "Correct AWS_ACCESS_KEY_ID.",
	// As versitygw names it.
	XAdminUserNotFound: "Correct AWS_ACCESS_KEY_ID.",
	SignatureDoesNotMatch: "Correct AWS_SECRET_ACCESS_KEY.",
	AccessDenied:
		"Allow archive's credentials s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket.",
	PermanentRedirect: "Set AWS_REGION to the bucket's region.",
	NotImplemented:
		"This store lacks what archive needs: conditional writes (If-None-Match: *).",
};

function nameOf(error: unknown): string {
	return error instanceof Error ? error.name : "";
}

/** The store has no lifecycle rules (as versitygw, 501), or archive's credentials may not touch them. */
function lacksLifecycle(error: unknown): boolean {
	return [403, 405, 501].includes(statusOf(error) ?? 0);
}

function statusOf(error: unknown): number | undefined {
	return error instanceof S3ServiceException
		? error.$metadata.httpStatusCode
		: undefined;
}
