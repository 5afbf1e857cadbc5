/**
 * Every name in NATS, in one place: subjects, streams and key-value buckets, with who writes and who reads.
 * One role creates each stream or bucket; the others wait for it.
 */

/** Receive publishes frames here; the shard's stream takes this one subject. */
export function framesSubject(shard: number): string {
	return `tidemill.frames.${shard}`;
}

/**
 * A shard's stream, created by archive when no stream takes the shard's subject. The epoch (64 random bits, hex) makes
 * a stream that was rebuilt from nothing a new one, so that its sequences never meet the object keys of the old one.
 */
export function streamName(shard: number, epoch: string): string {
	return `tidemill-frames-${shard}-${epoch}`;
}

/** Operator asks archive for a Run's manifest (request/reply, {@link file://./manifest.ts}). */
export function manifestSubject(shard: number): string {
	return `tidemill.archive.${shard}.manifest`;
}

/** Operator asks archive to delete a Source's events (request/reply, {@link file://./deletion.ts}). */
export function deletionSubject(shard: number): string {
	return `tidemill.archive.${shard}.delete`;
}

/**
 * Every JetStream server answers here with its own settings, `sync_interval` among them. It belongs to the system
 * account, which exports it as a service to Tidemill's account; receive and archive ask it, and serve no stream whose
 * server can't be shown to sync every write.
 */
export const serverStateSubject = "$SYS.REQ.SERVER.PING.JSZ";

export const bucket = {
	/** Created and written by operator, watched by receive: {@link file://./route.ts}. */
	routes: "tidemill-routes",
	/** Created and written by operator: source key → account, for life (`create` only). */
	claims: "tidemill-claims",
	/**
	 * Created and written by archive: stream name → last sequence whose objects are all in S3 (monotone); and
	 * `next-stream.<shard>` → the name of a stream that isn't there yet.
	 */
	objectsDone: "tidemill-objects-done",
	/** Created and written by archive, watched by operator: {@link file://./ledger.ts}. */
	ledger: "tidemill-ledger",
	/** Created by archive, written by receive and archive: {@link file://../ingest/wire/idempotency-entry.ts}, by the key's digest. */
	idempotency: "tidemill-idempotency",
	/** Created and written by api: requests with an Idempotency-Key of the last 24 h. */
	requests: "tidemill-requests",
} as const;

/** Created by api, whose replicas count requests in it: one counter (ADR-49) per window and subject, in memory. */
export const rates = {
	stream: "tidemill-rates",
	subject: (window: number | "*", subject: string) =>
		`tidemill.rates.${window}.${subject}`,
} as const;

/** Largest frame, and so the least `max_payload` that NATS must allow: 8 MiB. */
export const maxFrameBytes = 8 * 1024 * 1024;

/** JetStream's window for repeated message ids. A publish is repeated for 60 s at most, far inside it. */
export const duplicateWindowMs = 5 * 60_000;
