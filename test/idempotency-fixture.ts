import { onTestFinished } from "vitest";
import type { Route } from "../contracts/route.ts";
import { openKeyBucket } from "../ingest/archive/shard/key-bucket-creation.ts";
import { KeyBucket } from "../ingest/idempotency/key-bucket.ts";
import type { KeyEntry } from "../ingest/idempotency/key-entry.ts";
import { senderKey } from "../ingest/receive/idempotency/sender-key.ts";
import {
	ArchiveFixture,
	eventually,
	type RunningArchive,
} from "./archive-fixture.ts";
import { type Servers, startServers } from "./archive-servers.ts";
import { type HttpAnswer, sendJSON } from "./http-client.ts";
import {
	startReceiver,
	type TestReceiver,
	TestRoutes,
	untilReady,
} from "./receiver.ts";

/** Real NATS and S3, and receive processes of shard 0; archive runs when a test starts it. */
export class IdempotencyFixture {
	readonly servers: Servers;
	readonly archive: ArchiveFixture;
	readonly routes: TestRoutes;
	readonly bucket: KeyBucket;

	private constructor(
		servers: Servers,
		archive: ArchiveFixture,
		bucket: KeyBucket,
	) {
		this.servers = servers;
		this.archive = archive;
		this.bucket = bucket;
		this.routes = new TestRoutes(archive.connection);
	}

	/** @param maxKeys of the idempotency bucket, made as archive makes it. */
	static async start(maxKeys = 1_000): Promise<IdempotencyFixture> {
		const servers = await startServers();
		onTestFinished(() => servers.stop());
		const archive = await ArchiveFixture.open(servers, 0);
		await openKeyBucket(archive.connection, { maxKeys, replicas: 1 });
		const bucket = await KeyBucket.open(archive.connection, 120_000);
		const fixture = new IdempotencyFixture(servers, archive, bucket);
		await fixture.routes.markSynced();
		return fixture;
	}

	/** A receive process that is ready. @param natsPort of a proxy in front of NATS. */
	async receiver(natsPort?: number): Promise<TestReceiver> {
		const { nats } = this.servers;
		const receiver = await startReceiver({
			urlFor: (role) => {
				const url = new URL(nats.urlFor(role));
				if (natsPort !== undefined) url.port = String(natsPort);
				return url.href;
			},
		});
		onTestFinished(() => receiver.stop());
		await untilReady(receiver);
		return receiver;
	}

	/** A Source whose key is the header `idempotency-key`. */
	async source(change: Partial<Route> = {}): Promise<KeyedSource> {
		const { path, route } = await this.routes.add({
			idempotency: { key: { header: "idempotency-key" }, windowSeconds: 600 },
			...change,
		});
		return new KeyedSource(this, path, route);
	}

	/** Archives until all that is in the stream now is in the store. */
	async archiveAll(): Promise<RunningArchive> {
		const running = await this.archive.start();
		await running.flush();
		return running;
	}

	/** Ids of all rows in the store. */
	async storedIds(): Promise<string[]> {
		return (await this.archive.rows()).map(({ event_id }) => event_id);
	}
}

export class KeyedSource {
	readonly #fixture: IdempotencyFixture;
	readonly #path: string;
	readonly route: Route;

	constructor(fixture: IdempotencyFixture, path: string, route: Route) {
		this.#fixture = fixture;
		this.#path = path;
		this.route = route;
	}

	/** Sends a request with this key, or with none; again while the receiver doesn't know the Source yet. */
	async send(
		receiver: TestReceiver,
		key: string | undefined,
		body = "{}",
	): Promise<HttpAnswer> {
		const headers = key === undefined ? {} : { "idempotency-key": key };
		for (;;) {
			const url = receiver.url + this.#path;
			const answer = await sendJSON(url, body, { headers });
			if (answer.status !== 404) return answer;
		}
	}

	/** The same until the answer is 200. Returns the event's id. */
	stored(receiver: TestReceiver, key?: string, body?: string): Promise<string> {
		return eventually(async () => {
			const { status, json } = await this.send(receiver, key, body);
			if (status !== 200) throw new Error(`${status} ${json.error.code}`);
			return json.event_id;
		});
	}

	/** The key's digest. */
	digest(key: string): string {
		const headers = { "idempotency-key": key };
		return senderKey(this.route, headers, Buffer.from("{}"))!;
	}

	/** What the bucket holds under this key. */
	async entry(key: string): Promise<KeyEntry | undefined> {
		return (await this.#fixture.bucket.read(this.digest(key)))?.entry;
	}

	/** Has a claim's deadline pass, as if two minutes had gone by. */
	async passDeadline(key: string): Promise<void> {
		const { bucket } = this.#fixture;
		const kept = await bucket.read(this.digest(key));
		if (kept?.entry.state !== "claimed") throw new Error("there is no claim");
		const entry = { ...kept.entry, deadlineMs: Date.now() - 1 };
		await bucket.write(this.digest(key), entry, kept.revision);
	}
}
