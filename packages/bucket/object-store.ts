import type { LifecycleRule } from "@aws-sdk/client-s3";
import type { ObjectKeys } from "./object-keys.ts";
import type { PutLink } from "./object-links.ts";

export interface ListedObject {
	key: string;
	bytes: number;
	/** When the store took it, by the store's clock; milliseconds since the epoch. */
	modifiedMs: number;
}

/** What archive reads of its bucket. */
export interface ReadStore {
	readonly keys: ObjectKeys;
	get(key: string): Promise<string | undefined>;
	/** Writes an object's content into a file. Returns its SHA-256 (hex), or undefined if there is no object. */
	getFile(key: string, file: string): Promise<string | undefined>;
	/** The bytes of a range (RFC 9110 §14.1.2), such as `bytes=-100` for the last 100; undefined if there is no object. */
	getPart(
		key: string,
		range: string,
	): Promise<
		{ bytes: Uint8Array<ArrayBuffer>; totalBytes: number } | undefined
	>;
	/** Objects whose keys begin with `prefix`, in the order of their keys, beginning after the key `after`. */
	list(prefix: string, after?: string): AsyncIterable<ListedObject>;
}

/** One bucket, as archive uses it: it writes an object once and never changes it, but for lists of objects and what is erased. */
export interface Store extends ReadStore {
	/**
	 * Writes an object. Returns "exists" and writes nothing if the key exists with other content. With this content it is
	 * "created": a repeated request can't be told from a second writer of the same.
	 */
	putNew(
		key: string,
		body: Uint8Array | string,
		contentType: string,
	): Promise<"created" | "exists">;
	/** The same with the content of a file, which may be too large for memory. */
	putNewFile(
		key: string,
		file: string,
		contentType: string,
	): Promise<"created" | "exists">;
	/** Writes an object, or replaces it as a whole: a reader gets the former content or this one. For lists, which change. */
	put(key: string, text: string, contentType: string): Promise<void>;
	/** The same with the content of a file. For what erasures leave of events. */
	putFile(key: string, file: string, contentType: string): Promise<void>;
	/** Deletes any number of objects. A missing object is no error. */
	remove(keys: readonly string[]): Promise<void>;
	/** A URL with which anybody can GET the object for that long. It is a secret. */
	presign(key: string, expiresInSeconds: number): Promise<string>;
	/**
	 * A link with which anybody can write or replace the object, with exactly `bytes` bytes, for that long.
	 * @param sha256 of the only content that it takes, 64 hex digits.
	 */
	presignPut(
		key: string,
		bytes: number,
		expiresInSeconds: number,
		sha256?: string,
	): Promise<PutLink>;
	/** How long a link made now works, at most `wanted`: a link expires with the temporary credentials that signed it. */
	linkSeconds(wanted: number): Promise<number>;
	/** All rules of the bucket; undefined if the store doesn't support rules. There may be some that archive may not read. */
	lifecycleRules(): Promise<LifecycleRule[] | "forbidden" | undefined>;
	/** Replaces all rules of the bucket. Returns false if archive may not. */
	setLifecycleRules(rules: LifecycleRule[]): Promise<boolean>;
	/** Aborts unfinished uploads that began before `beforeMs`. Returns how many, or undefined if archive may not. */
	abortUploads(prefix: string, beforeMs: number): Promise<number | undefined>;
}
