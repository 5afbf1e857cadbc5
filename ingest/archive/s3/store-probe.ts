import { randomUUID } from "node:crypto";
import type { Logger } from "../../../service/log.ts";
import { partBytes } from "./multipart-upload.ts";
import type { ObjectStore } from "./object-store.ts";
import type { S3ObjectStore } from "./s3-object-store.ts";

/**
 * Makes sure that archive can do in the store all that it will have to. Throws what is missing, with what to do.
 * @param key Of an object that is written for this, and stays.
 */
export async function probeStore(
	store: S3ObjectStore,
	key: string,
	log: Logger,
): Promise<void> {
	await store.checkCredentials();
	await probeConditionalWrites(store, key);
	await store.get(key);
	for await (const _ of store.list(key)) break;
	// Of an object that isn't there: whoever may delete it gets no error.
	await store.remove([`${key}-${randomUUID()}`]);
	if (await store.keepsConditionOfParts(`${key}-parts`)) return;
	store.sendWhole();
	log.warn(
		{ partBytes },
		"the store ignores If-None-Match on CompleteMultipartUpload; large objects are sent whole, and wait in memory",
	);
}

/**
 * Makes sure that the store keeps `If-None-Match: *` (RFC 9110 §13.1.2): on it rests that each event gets into exactly
 * one object. Throws when a second write to the same key isn't refused, or when the store can't be written at all.
 */
export async function probeConditionalWrites(
	store: ObjectStore,
	key: string,
): Promise<void> {
	// No two are the same: the second is never taken for a repeat of the first.
	const write = () =>
		store.putNew(
			key,
			`Tidemill writes this twice to see that the second time is refused (${randomUUID()}).\n`,
			"text/plain",
		);
	await write();
	if ((await write()) !== "exists")
		throw new Error(
			`S3: the store ignores If-None-Match on writes (tried on ${key}), so two archivers could store an event twice. Use a store with conditional writes: AWS S3, R2, MinIO or versitygw.`,
		);
}
