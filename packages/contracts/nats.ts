import { hash } from "node:crypto";

/**
 * Every name in NATS: subjects, streams and key-value buckets, with their writers and readers.
 * Archive makes every stream, bucket and consumer; the other roles have it make theirs, and wait for the rest.
 */

/** Receive publishes frames here. It is the only subject of the shard's stream. */
export function framesSubject(shard: number): string {
	return `tidemill.frames.${shard}`;
}

/**
 * A shard's stream. Archive creates it when no stream has the shard's subject. The epoch (64 random bits, hex) gives a
 * rebuilt stream a new name, so its sequences never collide with the object keys of the old stream.
 */
export function streamName(shard: number, epoch: string): string {
	return `tidemill-frames-${shard}-${epoch}`;
}

/** The shard of a {@link streamName}, or of a name that begins with one, as those of objects do; undefined for others. */
export function shardOfStream(name: string): number | undefined {
	const shard = /^tidemill-frames-(\d+)-/.exec(name)?.[1];
	return shard === undefined ? undefined : Number(shard);
}

/** The subject of a question by the shard whose archive answers, or by what else is asked. */
function askedOf(what: string): (shard: number | string) => string {
	return (shard) => `tidemill.archive.${shard}.${what}`;
}

/** Operator asks archive for a Run's manifest (request/reply, {@link file://./manifest.ts}). */
export const manifestSubject = askedOf("manifest");

/** Operator asks archive what a Run's Job left (request/reply, {@link file://./manifest.ts ResultRequest}). */
export const resultSubject = askedOf("result");

/** The API asks any archive for the log of a Run's Job (request/reply, {@link file://./manifest.ts LogRequest}). */
export const logSubject = "tidemill.archive.log";

/** The API asks any archive what was counted of a Source (request/reply, {@link file://./ledger.ts CountsRequest}). */
export const countsSubject = "tidemill.archive.counts";

/** The API opens a live tail here, and renews it on that of the archive process ({@link file://./event-tail.ts}). */
export const tailSubject = askedOf("tail");

/** The API asks any archive for links to the files of an Export (request/reply, {@link file://./transfer.ts}). */
export const exportSubject = "tidemill.archive.export";

/** The API asks any archive for links to upload files for an Import (request/reply, {@link file://./transfer.ts}). */
export const uploadSubject = "tidemill.archive.upload";

/** Operator asks archive to add the events of an Import (request/reply, {@link file://./transfer.ts}). */
export const importSubject = askedOf("import");

/** The API asks archive for stored events (request/reply, {@link file://./stored-event.ts}). */
export const eventsSubject = askedOf("events");

/** Operator asks archive to release events from quarantine (request/reply, {@link file://./archive.ts}). */
export const releaseSubject = askedOf("release");

/** Operator asks archive to erase events (request/reply, {@link file://./archive.ts}). */
export const erasureSubject = askedOf("erase");

/** Operator asks archive to keep a Source's events longer (request/reply, {@link file://./retention.ts}). */
export const retentionSubject = askedOf("retention");

/**
 * An archive asks that of another shard of a Source for its share of the events, and operator does before a Source moves
 * (request/reply, {@link file://./archive.ts}).
 */
export const shareSubject = askedOf("share");

/** Operator asks archive to delete a Source's events (request/reply, {@link file://./archive.ts}). */
export const deletionSubject = askedOf("delete");

/**
 * Every JetStream server answers here with its settings, `sync_interval` among them. The system account exports the subject
 * as a service to Tidemill's account. Receive and archive refuse a stream unless its server proves that it syncs every write.
 */
export const serverStateSubject = "$SYS.REQ.SERVER.PING.JSZ";

/** There a server reads its configuration and certificates anew; `*` for all, in a permission. Exported as the one above. */
export const reloadSubject = (serverId: string) =>
	`$SYS.REQ.SERVER.${serverId}.RELOAD`;

/** A role has archive make one of its streams, of that name (request/reply, packages/streams/made-streams.ts). The payload is empty. */
export const makeSubject = (name: string) => `tidemill.make.${name}`;

/**
 * JetStream answers it in the account that holds the streams. A role's own account doesn't import it: that nobody answers tells
 * the role where it is.
 */
export const ownAccountProbe = "$JS.API.STREAM.LIST";

/** A bucket's stream publishes each change of a key here, for roles in other accounts than the stream's. */
export const changesSubject = (bucketName: string, key: string) =>
	`tidemill.changes.${bucketName}.${key}`;

export const bucket = {
	/** Written by operator, watched by receive: {@link file://./route.ts}. */
	routes: "tidemill-routes",
	/**
	 * Written by operator: source key → the account that owns it, forever (`create` only), and the shards of a
	 * Source that has moved ({@link file://./route.ts}), which archive reads.
	 */
	sourceKeys: "tidemill-source-keys",
	/**
	 * Written by archive: stream name → last sequence whose objects are all in S3 (monotone);
	 * `next-stream.<shard>` → the name of a stream that is yet to be created; and {@link archivesBucketKey}.
	 */
	objectsDone: "tidemill-objects-done",
	/** Written by archive, watched by receive: {@link file://./archive.ts}, by process. */
	archives: "tidemill-archives",
	/** Written by archive, watched by operator: {@link file://./ledger.ts}. */
	ledger: "tidemill-ledger",
	/** Written by receive and archive: {@link file://../../ingest/wire/idempotency-entry.ts}, by account and the key's digest. */
	idempotency: "tidemill-idempotency",
	/** Written by notify, watched by operator: {@link file://./notification.ts}. */
	deliveries: "tidemill-deliveries",
	/** Written by api: requests with an Idempotency-Key, and ended sessions of the console, of the last 24 h. */
	requests: "tidemill-requests",
} as const;

/** In {@link bucket.objectsDone}: which bucket of S3 archive writes to, and how far it had come (ingest/archive/decide/bucket-verdict.ts). */
export const archivesBucketKey = "bucket";

/** Replicas of api count requests here: one counter (ADR-49) per window and subject, in memory. */
export const rates = {
	stream: "tidemill-rates",
	subject: (window: number | "*", subject: string) =>
		`tidemill.rates.${window}.${subject}`,
} as const;

/**
 * Refused requests of the last hours ({@link file://./refused-request.ts}), in memory. Written by receive,
 * read by api. No Source's push out another's, since receive bounds what an account writes.
 */
export const refused = {
	stream: "tidemill-refused",
	/** All of {@link refused.subject}. */
	subjects: "tidemill.refused.*.*",
	/** With a digest: who reads all of the stream learns no key by which archive would show a Source's events. */
	subject: (account: string, sourceKey: string) =>
		`tidemill.refused.${account}.${hash("sha256", sourceKey).slice(0, 32)}`,
} as const;

/**
 * Operator hands each {@link file://./notification.ts NotificationOrder} over here; notify takes it from the
 * queue when it is delivered or given up.
 */
export const notifications = {
	stream: "tidemill-notifications",
	subject: (account: string) => `tidemill.notifications.${account}`,
	consumer: "notify",
	/** An order that no process works on for so long is given to another one. */
	ackWaitMs: 20_000,
} as const;

/** All of Tidemill's streams but the shards', whose names are random. */
export const namedStreams: readonly string[] = [
	...Object.values(bucket).map((name) => `KV_${name}`),
	...[notifications, rates, refused].map(({ stream }) => stream),
];

/** Receive asks any notify for what only Amazon has (request/reply, {@link file://./notify-question.ts SnsQuestion}). */
export const sns = {
	certificate: "tidemill.sns.certificate",
	confirmation: "tidemill.sns.confirmation",
} as const;

/** Receive asks any notify for the public keys at a URL (request/reply, {@link file://./notify-question.ts KeyQuestion}). */
export const publicKeysSubject = "tidemill.public-keys";

/** The API has any receive take a stored event again (request/reply, {@link file://./sent-again.ts}). */
export const sendAgainSubject = "tidemill.receive.again";

/** The largest frame: 8 MiB. NATS' `max_payload` must allow for it. */
export const maxFrameBytes = 8 * 1024 * 1024;

/** JetStream's window for repeated message ids. A publish is retried for 60 s at most, well inside it. */
export const duplicateWindowMs = 5 * 60_000;
