import { randomUUID } from "node:crypto";
import type { Logger } from "../service/log.ts";
import { partBytes } from "./multipart-upload.ts";
import type { Store } from "./object-store.ts";
import type { S3ObjectStore } from "./s3-object-store.ts";

/**
 * Checks that archive can do everything that it needs in the store. Throws what is missing and what to do.
 * @param key The key of an object that the check writes, and that stays.
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
	// Deleting a missing object is no error if archive may delete.
	await store.remove([`${key}-${randomUUID()}`]);
	if (await store.keepsConditionOfParts(`${key}-parts`)) return;
	store.sendWhole();
	log.warn(
		{ partBytes },
		"the store ignores If-None-Match on CompleteMultipartUpload; archive sends large objects in one piece, from memory",
	);
}

/**
 * Checks that the store honours `If-None-Match: *` (RFC 9110 §13.1.2), so that each event gets into exactly one object.
 * Throws if the store accepts a second write to the same key, or no write at all.
 */
export async function probeConditionalWrites(
	store: Store,
	key: string,
): Promise<void> {
	// The contents differ, so the second write can't count as a repeat of the first.
	const write = () =>
		store.putNew(
			key,
			`Tidemill writes this twice and expects the store to refuse the second write (${randomUUID()}).\n`,
			"text/plain",
		);
	await write();
	if ((await write()) !== "exists")
		throw new Error(
			`S3: the store ignores If-None-Match on writes (tried on ${key}), so two archivers could store an event twice. Use a store with conditional writes: AWS S3, R2, MinIO or versitygw.`,
		);
}
