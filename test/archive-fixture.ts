import { randomBytes, randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import {
	DeleteObjectCommand,
	PutObjectCommand,
	S3Client,
} from "@aws-sdk/client-s3";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import pino from "pino";
import { Registry } from "prom-client";
import { onTestFinished, vi } from "vitest";
import type { DeletionAnswer } from "../contracts/deletion.ts";
import type {
	ManifestAnswer,
	ManifestQuestion,
} from "../contracts/manifest.ts";
import {
	deletionSubject,
	framesSubject,
	manifestSubject,
} from "../contracts/nats.ts";
import { DeletionDesk } from "../ingest/archive/deletion/deletion-desk.ts";
import { Tombstones } from "../ingest/archive/deletion/tombstones.ts";
import { LedgerSnapshots } from "../ingest/archive/ledger/ledger-snapshots.ts";
import { ManifestDesk } from "../ingest/archive/manifest/manifest-desk.ts";
import { ArchiveMetrics } from "../ingest/archive/metrics.ts";
import { readBacklogs } from "../ingest/archive/shard/backlog.ts";
import { CutStore } from "../ingest/archive/shard/cut-store.ts";
import { CutWriter } from "../ingest/archive/shard/cut-writer.ts";
import { LossStore } from "../ingest/archive/shard/loss-store.ts";
import { ParquetWriter } from "../ingest/archive/shard/parquet.ts";
import { Shard } from "../ingest/archive/shard/shard.ts";
import { openShardStream } from "../ingest/archive/shard/shard-stream.ts";
import { ObjectKeys } from "../ingest/archive/store/object-keys.ts";
import type { ObjectStore } from "../ingest/archive/store/object-store.ts";
import { S3ObjectStore } from "../ingest/archive/store/s3-object-store.ts";
import { probeConditionalWrites } from "../ingest/archive/store/store-probe.ts";
import {
	encodeEvent,
	encodeFrameHead,
	type FrameEvent,
	frameId,
} from "../ingest/frame.ts";
import { connectNats } from "../service/nats.ts";
import { Settings } from "../service/settings.ts";
import type { Servers } from "./archive-servers.ts";
import { type ArchivedRow, readArchivedRows } from "./archived-rows.ts";
import type { TestS3 } from "./servers.ts";
import { accessStore } from "./store-access.ts";
import { temporaryDirectory } from "./test-server.ts";

export const log = pino({ level: process.env.ARCHIVE_TEST_LOG ?? "silent" });

export interface RunningArchive {
	shard: Shard;
	registry: Registry;
	/** Settles when everything that is in the stream now is in the store. */
	flush(): Promise<void>;
	/** Takes no more questions, as when it has fallen asleep: NATS knows it. */
	closeDesks(): Promise<void>;
	stop(): Promise<void>;
}

export interface ArchiveOptions {
	maxAgeMs?: number;
	maxBytes?: number;
	/** Stands between archive and what it writes to. */
	wrapStore?: (store: ObjectStore) => ObjectStore;
	wrapConnection?: (connection: NatsConnection) => NatsConnection;
}

/** Waits until the assertions hold; generous, since the machine may be busy. */
export function eventually<T>(assertions: () => T | Promise<T>): Promise<T> {
	return vi.waitFor(assertions, { timeout: 120_000, interval: 50 });
}

type AtEnd = (end: () => Promise<void>) => void;

let shards = 0;

/** A shard and a prefix in the bucket of its own, so that tests don't meet. */
export class ArchiveFixture {
	readonly shard: number;
	readonly prefix: string = `test-${randomUUID()}`;
	readonly keys = new ObjectKeys(this.prefix);
	readonly process = randomBytes(16).toString("hex");
	readonly sourceKey = randomBytes(16).toString("hex");
	readonly servers: Servers;
	readonly connection: NatsConnection;
	readonly store: S3ObjectStore;
	/** The shard's stream. */
	stream = "";
	readonly #atEnd: AtEnd;
	#number = 0;

	private constructor(
		servers: Servers,
		connection: NatsConnection,
		shard: number,
		atEnd: AtEnd,
	) {
		this.shard = shard;
		this.#atEnd = atEnd;
		this.servers = servers;
		this.connection = connection;
		this.store = newStore(servers.s3, new AbortController().signal);
	}

	/**
	 * Has the shard's stream made, so that frames can be published before archive runs.
	 * @param shard for who has the servers alone.
	 * @param atEnd takes what is to be done at the end, the last first; by default the end is the test's.
	 */
	static async open(
		servers: Servers,
		shard = shards++,
		atEnd: AtEnd = onTestFinished,
	): Promise<ArchiveFixture> {
		const settings = new Settings({ NATS_URL: servers.nats.url });
		const connection = await connectNats(settings, "test", log);
		atEnd(() => connection.close());
		const fixture = new ArchiveFixture(servers, connection, shard, atEnd);
		fixture.stream = await openShardStream(
			connection,
			fixture.shard,
			streamSettings,
			log,
		);
		return fixture;
	}

	/** The variables that make `tidemill archive` archive this shard. */
	env(): Record<string, string> {
		const { nats, s3 } = this.servers;
		return {
			NATS_URL: nats.urlFor("archive"),
			S3_ENDPOINT: s3.endpoint,
			S3_BUCKET: s3.bucket,
			S3_PREFIX: this.prefix,
			AWS_REGION: s3.region,
			AWS_ACCESS_KEY_ID: s3.accessKeyId,
			AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
			ARCHIVE_SHARDS: String(this.shard),
			ARCHIVE_MAX_AGE_MS: "100",
			STREAM_MAX_BYTES: String(streamSettings.maxBytes),
		};
	}

	/** Publishes one frame, by default the next of one process; settles with its acknowledgement. */
	async publish(
		events: FrameEvent[],
		more: {
			number?: number;
			voided?: number[];
			process?: string;
			messageId?: string;
		} = {},
	): Promise<number> {
		const { process = this.process, voided = [] } = more;
		const number = more.number ?? ++this.#number;
		const data = Buffer.concat([
			encodeFrameHead(
				process,
				number,
				voided,
				events.length,
				events.some(({ key }) => key) ? 2 : 1,
			),
			...events.flatMap(encodeEvent),
		]);
		return this.publishBytes(data, more.messageId ?? frameId(process, number));
	}

	/** As receive does: again under the same message id while the outcome is unknown. */
	async publishBytes(data: Uint8Array, messageId: string): Promise<number> {
		return vi.waitFor(
			async () => {
				const ack = await jetstream(this.connection).publish(
					framesSubject(this.shard),
					data,
					{ msgID: messageId, timeout: 1_000 },
				);
				return ack.seq;
			},
			{ timeout: 120_000 },
		);
	}

	/** Runs archive's parts for this shard in this process, until the end or `stop`. */
	async start(options: ArchiveOptions = {}): Promise<RunningArchive> {
		const { nats, s3 } = this.servers;
		const stop = new AbortController();
		const settings = new Settings({ NATS_URL: nats.urlFor("archive") });
		const own = await connectNats(settings, "archive", log);
		const connection = options.wrapConnection?.(own) ?? own;
		const plain = newStore(s3, stop.signal);
		const store = options.wrapStore?.(plain) ?? plain;
		const scratch = await temporaryDirectory("scratch");
		const parquet = await ParquetWriter.open(scratch);
		const registry = new Registry();
		const shards: Shard[] = [];
		const metrics = new ArchiveMetrics(
			registry,
			() => shards,
			() => readBacklogs(connection, [this.shard]),
		);
		const { keys } = this;
		const tombstones = new Tombstones(store, keys);
		const shard = new Shard({
			number: this.shard,
			connection,
			cuts: new CutStore(store, keys),
			snapshots: new LedgerSnapshots(store, keys, log),
			losses: new LossStore(store, keys),
			writer: new CutWriter({ store, keys, parquet, tombstones, metrics }),
			tombstones,
			limits: {
				maxBytes: options.maxBytes ?? 1024 * 1024,
				maxAgeMs: options.maxAgeMs ?? 100,
			},
			stream: streamSettings,
			checkStore: () => probeConditionalWrites(store, keys.probe()),
			metrics,
			log,
		});
		shards.push(shard);
		const desk = new ManifestDesk({
			connection,
			shard,
			store,
			keys,
			tombstones,
			metrics,
			log,
		});
		const deletion = new DeletionDesk({
			connection,
			replicas: streamSettings.replicas,
			shard,
			store,
			keys,
			tombstones,
			log,
		});
		const running = shard.run(stop.signal);
		// The questions' subscription has reached the server.
		await own.flush();
		const closeDesks = () => {
			for (const each of [desk, deletion]) each.close();
		};
		const end = async () => {
			if (stop.signal.aborted) return;
			closeDesks();
			stop.abort();
			await running;
			await own.close();
			parquet.close();
			await rm(scratch, { recursive: true });
		};
		this.#atEnd(end);
		return {
			shard,
			registry,
			flush: async () =>
				shard.flushes.wait(
					this.stream,
					await this.lastSequence(),
					AbortSignal.timeout(120_000),
				),
			closeDesks: () => {
				closeDesks();
				return own.flush();
			},
			stop: end,
		};
	}

	async streamState() {
		const { streams } = await jetstreamManager(this.connection);
		return (await streams.info(this.stream)).state;
	}

	async lastSequence(): Promise<number> {
		return (await this.streamState()).last_seq;
	}

	/** Asks as the operator does. */
	async ask(question: ManifestQuestion): Promise<ManifestAnswer> {
		const answer = await this.connection.request(
			manifestSubject(this.shard),
			JSON.stringify(question),
			{ timeout: 120_000 },
		);
		return answer.json();
	}

	/** Asks as the operator does to delete a source, by default the fixture's own. */
	async askDeletion(sourceKey = this.sourceKey): Promise<DeletionAnswer> {
		const answer = await this.connection.request(
			deletionSubject(this.shard),
			JSON.stringify({ account: "shop", sourceKey }),
			{ timeout: 120_000 },
		);
		return answer.json();
	}

	/** Deletes or changes an object, as archive itself never does. */
	async tamper(key: string, content?: string): Promise<void> {
		const { bucket: Bucket, region, endpoint } = this.servers.s3;
		const client = new S3Client({ region, endpoint, forcePathStyle: true });
		await (content === undefined
			? client.send(new DeleteObjectCommand({ Bucket, Key: key }))
			: client.send(new PutObjectCommand({ Bucket, Key: key, Body: content })));
		client.destroy();
	}

	/** Every row of every data object in the bucket, object by object, in the order in which it stands there. */
	async rows(): Promise<ArchivedRow[]> {
		const rows: ArchivedRow[] = [];
		for await (const { key } of this.store.list(`${this.prefix}/events/`)) {
			const url = await this.store.presign(key, 60);
			const bytes = Buffer.from(await (await fetch(url)).arrayBuffer());
			rows.push(
				...(await readArchivedRows(bytes)).map((row) => ({ ...row, key })),
			);
		}
		return rows;
	}

	/** Bodies of all rows, sorted: a multiset that shows what is missing and what is there twice. */
	async bodies(): Promise<string[]> {
		return (await this.rows()).map(({ body }) => body).sort();
	}
}

const streamSettings = {
	maxBytes: 64 * 1024 * 1024,
	replicas: 1,
	maxKeys: 1_000_000,
};

export function newEvent(
	body: string,
	more: Partial<FrameEvent> = {},
): FrameEvent {
	return {
		id: randomBytes(16),
		receivedAtMs: Date.now(),
		sourceKey: "5a".repeat(16),
		account: "shop",
		kind: "json",
		headers: "",
		violations: "",
		body: Buffer.from(body),
		...more,
	};
}

export function newStore(s3: TestS3, signal: AbortSignal): S3ObjectStore {
	return new S3ObjectStore(accessStore(s3), signal);
}
