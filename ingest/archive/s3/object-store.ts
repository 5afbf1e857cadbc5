import type { LifecycleRule } from "@aws-sdk/client-s3";

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
	/** For how long links made now work, if that is less than wanted: those of temporary credentials end with them. */
	linkSeconds(wanted: number): Promise<number>;
	/** Deletes up to 1,000 objects; one that isn't there is no error. */
	remove(keys: readonly string[]): Promise<void>;
}

/** Objects that are too large for memory. */
export interface FileStore {
	/** As {@link ObjectStore.putNew}, with the file's content. */
	putNewFile(
		key: string,
		file: string,
		contentType: string,
	): Promise<"created" | "exists">;
	/** Writes an object's content into a file; returns its SHA-256 (hex), or undefined when there is no object. */
	getFile(key: string, file: string): Promise<string | undefined>;
}

/** What a store removes by itself. */
export interface LifecycleStore {
	/** The bucket's rules, also those of others; undefined when the store has none to offer, or archive may not see them. */
	lifecycleRules(): Promise<LifecycleRule[] | undefined>;
	/** Replaces all of the bucket's rules. False when archive may not. */
	setLifecycleRules(rules: LifecycleRule[]): Promise<boolean>;
	/** Clears away uploads that were begun before then and never finished; how many, or undefined when archive may not. */
	abortUploads(prefix: string, beforeMs: number): Promise<number | undefined>;
}
