import { readFile, stat } from "node:fs/promises";
// @aws-sdk/client-s3: see s3-client.ts.
import {
	DeleteBucketLifecycleCommand,
	DeleteObjectsCommand,
	GetBucketLifecycleConfigurationCommand,
	type LifecycleRule,
	ListObjectsV2Command,
	type ListObjectsV2CommandInput,
	PutBucketLifecycleConfigurationCommand,
	PutObjectCommand,
	type S3Client,
} from "@aws-sdk/client-s3";
import { writeOnce } from "./conditional-write.ts";
import {
	abortUploads,
	partBytes,
	partsOf,
	uploadInParts,
} from "./multipart-upload.ts";
import { type ObjectKeys, objectKeys } from "./object-keys.ts";
import { ObjectLinks } from "./object-links.ts";
import {
	digest,
	fileDigest,
	type ObjectBody,
	type ObjectPart,
	readObject,
	readPart,
} from "./object-read.ts";
import type { ListedObject, Store } from "./object-store.ts";
import { QuickPut } from "./quick-put.ts";
import {
	encryptionOf,
	newS3Client,
	type ObjectStoreSettings,
} from "./s3-client.ts";
import {
	isRefusal,
	isUnsupported,
	nameOf,
	statusOf,
	storeError,
} from "./store-error.ts";
import { StoreRequests } from "./store-requests.ts";

/** The most keys of one DeleteObjects request, by its API reference. */
const removedAtOnce = 1_000;

export class S3ObjectStore implements Store {
	readonly keys: ObjectKeys;
	readonly #client: S3Client;
	readonly #links: ObjectLinks;
	readonly #quickPut: QuickPut;
	readonly #settings: ObjectStoreSettings;
	readonly #abortSignal: AbortSignal;
	/** Larger files are sent in parts; see {@link sendWhole}. */
	#mostBytesWhole = partBytes;

	/** @param abortSignal Aborts all requests, present and future. */
	constructor(
		settings: ObjectStoreSettings,
		abortSignal: AbortSignal,
		requests = new StoreRequests(),
	) {
		this.keys = objectKeys(settings.prefix ?? "");
		this.#settings = settings;
		this.#abortSignal = abortSignal;
		this.#client = newS3Client(settings);
		this.#links = new ObjectLinks(this.#client, settings);
		requests.observe(this.#client);
		this.#quickPut = new QuickPut(
			this.#client,
			settings,
			abortSignal,
			requests,
		);
	}

	/** Finds credentials, or throws which ones are missing. */
	async checkCredentials(): Promise<void> {
		await this.#client.config.credentials().catch((error) => {
			throw this.#named(error, "find credentials to use");
		});
	}

	/** Whether the store honours If-None-Match for multipart uploads, too. Tries it on this key. */
	async keepsConditionOfParts(key: string): Promise<boolean> {
		const parts = [Buffer.from("Written by Tidemill as it started.\n")];
		const write = () =>
			this.#create(
				key,
				() => this.#uploadInParts(key, parts, "text/plain"),
				async () => false,
			);
		try {
			await write();
			return (await write()) === "exists";
		} catch (error) {
			// S3 answers NotImplemented; some stores answer with an invalid request.
			if (statusOf((error as Error).cause) === 400) return false;
			if (isUnsupported((error as Error).cause)) return false;
			throw error;
		}
	}

	/** Sends no object in parts from now on, because the store ignores If-None-Match on multipart uploads. */
	sendWhole(): void {
		this.#mostBytesWhole = Infinity;
	}

	async putNew(
		key: string,
		content: Uint8Array | string,
		contentType: string,
	): Promise<"created" | "exists"> {
		const body = typeof content === "string" ? Buffer.from(content) : content;
		const isOurs = async () => {
			// What can't be read, such as a damaged object, isn't what was sent. Whoever needs it learns why.
			const existing = await this.#read(key, (object) =>
				object.transformToByteArray(),
			).catch(() => undefined);
			return existing !== undefined && Buffer.from(existing).equals(body);
		};
		const quick = await this.#quickPut.put({ key, body, contentType });
		if (quick === "created") return quick;
		if (quick === "exists") return (await isOurs()) ? "created" : "exists";
		const put = new PutObjectCommand({
			Bucket: this.#settings.bucket,
			Key: key,
			Body: body,
			ContentType: contentType,
			IfNoneMatch: "*",
			...encryptionOf(this.#settings),
		});
		return this.#create(
			key,
			() => this.#client.send(put, { abortSignal: this.#abortSignal }),
			isOurs,
		);
	}

	async put(key: string, text: string, contentType: string): Promise<void> {
		const put = new PutObjectCommand({
			Bucket: this.#settings.bucket,
			Key: key,
			Body: text,
			ContentType: contentType,
			...encryptionOf(this.#settings),
		});
		await this.#client
			.send(put, { abortSignal: this.#abortSignal })
			.catch((error) => {
				throw this.#named(error, `write ${key}`);
			});
	}

	async putNewFile(
		key: string,
		file: string,
		contentType: string,
	): Promise<"created" | "exists"> {
		if ((await stat(file)).size <= this.#mostBytesWhole)
			return this.putNew(key, await readFile(file), contentType);
		return this.#create(
			key,
			() => this.#uploadInParts(key, partsOf(file), contentType),
			async () => (await this.#digest(key)) === (await fileDigest(file)),
		);
	}

	async putFile(key: string, file: string, type: string): Promise<void> {
		const write =
			(await stat(file)).size <= this.#mostBytesWhole
				? this.#client.send(
						new PutObjectCommand({
							Bucket: this.#settings.bucket,
							Key: key,
							Body: await readFile(file),
							ContentType: type,
							...encryptionOf(this.#settings),
						}),
						{ abortSignal: this.#abortSignal },
					)
				: this.#uploadInParts(key, partsOf(file), type, false);
		await write.catch((error) => {
			throw this.#named(error, `write ${key}`);
		});
	}

	#uploadInParts(
		Key: string,
		parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
		ContentType: string,
		isNew = true,
	): Promise<void> {
		const { bucket: Bucket } = this.#settings;
		return uploadInParts(
			this.#client,
			{ Bucket, Key, ContentType, ...encryptionOf(this.#settings) },
			parts,
			this.#abortSignal,
			isNew,
		);
	}

	async #create(
		key: string,
		write: () => Promise<unknown>,
		isOurs: () => Promise<boolean>,
	): Promise<"created" | "exists"> {
		return writeOnce(write, isOurs, this.#abortSignal).catch((error) => {
			throw this.#named(error, `write ${key}`);
		});
	}

	get(key: string): Promise<string | undefined> {
		return this.#read(key, (body) => body.transformToString());
	}

	getFile(key: string, file: string): Promise<string | undefined> {
		return this.#digest(key, file);
	}

	getPart(key: string, range: string): Promise<ObjectPart | undefined> {
		const object = { Bucket: this.#settings.bucket, Key: key };
		return readPart(this.#client, object, range, this.#abortSignal).catch(
			(error) => {
				throw this.#named(error, `read ${key}`);
			},
		);
	}

	#digest(key: string, file?: string): Promise<string | undefined> {
		return this.#read(key, (body) => digest(body, file));
	}

	#read<T>(
		key: string,
		consume: (body: ObjectBody) => Promise<T>,
	): Promise<T | undefined> {
		const object = { Bucket: this.#settings.bucket, Key: key };
		return readObject(this.#client, object, consume, this.#abortSignal).catch(
			(error) => {
				throw this.#named(error, `read ${key}`);
			},
		);
	}

	async *list(prefix: string, after?: string): AsyncGenerator<ListedObject> {
		const { bucket: Bucket } = this.#settings;
		const chosen = { Bucket, Prefix: prefix, StartAfter: after };
		try {
			yield* listObjects(this.#client, chosen, this.#abortSignal);
		} catch (error) {
			throw this.#named(error, `list ${prefix}`);
		}
	}

	presign(key: string, expiresInSeconds: number) {
		return this.#links.get(key, expiresInSeconds);
	}

	presignPut(
		key: string,
		bytes: number,
		expiresInSeconds: number,
		sha256?: string,
	) {
		return this.#links.put(key, bytes, expiresInSeconds, sha256);
	}

	linkSeconds(wanted: number) {
		return this.#links.seconds(wanted);
	}

	async remove(keys: readonly string[]): Promise<void> {
		for (let at = 0; at < keys.length; at += removedAtOnce)
			await this.#removePage(keys.slice(at, at + removedAtOnce));
	}

	async #removePage(keys: readonly string[]): Promise<void> {
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
		const first = Errors.find(({ Code }) => Code !== "NoSuchKey");
		if (first)
			throw this.#named(
				Object.assign(new Error(first.Message), { name: first.Code }),
				`delete ${first.Key}`,
			);
	}

	async lifecycleRules(): Promise<LifecycleRule[] | "forbidden" | undefined> {
		return this.#unlessUnsupported(
			"read the lifecycle rules",
			(bucket, signal) => readLifecycleRules(this.#client, bucket, signal),
		);
	}

	async setLifecycleRules(rules: LifecycleRule[]): Promise<boolean> {
		const written = await this.#unlessUnsupported(
			"write the lifecycle rules",
			(bucket, signal) =>
				writeLifecycleRules(this.#client, bucket, rules, signal).then(
					() => true,
				),
		);
		return written ?? false;
	}

	async abortUploads(
		prefix: string,
		beforeMs: number,
	): Promise<number | undefined> {
		return this.#unlessUnsupported(
			`abort unfinished uploads of ${prefix}`,
			(Bucket, signal) =>
				abortUploads(
					this.#client,
					{ Bucket, Prefix: prefix },
					beforeMs,
					signal,
				),
		);
	}

	/** Undefined if the store doesn't support the action, or archive may not do it. */
	async #unlessUnsupported<T>(
		action: string,
		act: (bucket: string, signal: AbortSignal) => Promise<T>,
	): Promise<T | undefined> {
		try {
			return await act(this.#settings.bucket, this.#abortSignal);
		} catch (error) {
			if (isUnsupported(error)) return undefined;
			throw this.#named(error, action);
		}
	}

	close(): void {
		this.#client.destroy();
	}

	#named(error: unknown, action: string): Error {
		if (isRefusal(error)) this.#settings.keys?.refused();
		return storeError(this.#settings, error, action);
	}
}

/** The chosen objects, one request to the store for each page. Throws the SDK's errors. */
export async function* listObjects(
	client: S3Client,
	chosen: Omit<ListObjectsV2CommandInput, "ContinuationToken">,
	abortSignal: AbortSignal,
): AsyncGenerator<ListedObject> {
	let token: string | undefined;
	do {
		const page = await client.send(
			new ListObjectsV2Command({ ...chosen, ContinuationToken: token }),
			{ abortSignal },
		);
		for (const { Key, Size, LastModified } of page.Contents ?? [])
			if (Key !== undefined)
				yield {
					key: Key,
					bytes: Size ?? 0,
					// An object of unknown age counts as new.
					modifiedMs: LastModified?.getTime() ?? Infinity,
				};
		token = page.NextContinuationToken;
	} while (token !== undefined);
}

export async function readLifecycleRules(
	client: S3Client,
	Bucket: string,
	abortSignal: AbortSignal,
): Promise<LifecycleRule[] | "forbidden"> {
	try {
		const { Rules = [] } = await client.send(
			new GetBucketLifecycleConfigurationCommand({ Bucket }),
			{ abortSignal },
		);
		return Rules;
	} catch (error) {
		if (nameOf(error) === "NoSuchLifecycleConfiguration") return [];
		if (statusOf(error) === 403) return "forbidden";
		throw error;
	}
}

export async function writeLifecycleRules(
	client: S3Client,
	Bucket: string,
	Rules: LifecycleRule[],
	abortSignal: AbortSignal,
): Promise<void> {
	// A configuration has at least one rule (S3 API, PutBucketLifecycleConfiguration).
	const command =
		Rules.length === 0
			? new DeleteBucketLifecycleCommand({ Bucket })
			: new PutBucketLifecycleConfigurationCommand({
					Bucket,
					LifecycleConfiguration: { Rules },
				});
	await client.send(command, { abortSignal });
}
