import type { ObjectStore } from "./object-store.ts";

/**
 * Makes sure that the store keeps `If-None-Match: *` (RFC 9110 §13.1.2): on it rests that each event gets into exactly
 * one object. Throws when a second write to the same key isn't refused, or when the store can't be written at all.
 */
export async function probeConditionalWrites(
	store: ObjectStore,
	key: string,
): Promise<void> {
	const write = () =>
		store.putNew(
			key,
			"Tidemill writes this twice to see that the second time is refused.\n",
			"text/plain",
		);
	await write();
	if ((await write()) !== "exists")
		throw new Error(
			`S3: the store ignores If-None-Match on writes (tried on ${key}), so two archivers could store an event twice. Use a store with conditional writes: AWS S3, R2, MinIO or versitygw.`,
		);
}
