import { randomUUID } from "node:crypto";
import { Kvm } from "@nats-io/kv";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { ledgerOf } from "../../ingest/archive/ledger/ledger-index.ts";
import { NatsProgress } from "../../ingest/archive/write/nats-progress.ts";
import { Tombstones } from "../../ingest/archive/write/tombstones.ts";
import { sweepDeleted } from "../../ingest/lake/retention/deletion.ts";
import { encodeFrameHead } from "../../ingest/wire/frame.ts";
import type { DeletedLedger } from "../../packages/contracts/ledger.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import { utcDate } from "../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../packages/fair/fair-limit.ts";
import { storeWith } from "../support/doubles/store-with.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import { log } from "../support/fixtures/data-plane/running-archive.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";
import { startTidemill } from "../support/servers/tidemill-process.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

const done = { ok: true, isDone: true };

/** Events of the fixture's source and of another one, in one frame. */
async function publishBoth(archive: ArchiveFixture, name: string) {
	const { sourceKey } = archive;
	await archive.publish([newEvent(name, { sourceKey }), newEvent(`~${name}`)]);
}

async function publishedLedger({ connection, sourceKey }: ArchiveFixture) {
	const kv = await new Kvm(connection).open(bucket.ledger);
	return (await kv.get(sourceKey))?.json<DeletedLedger>();
}

function manifestOf(archive: ArchiveFixture, sourceKey = archive.sourceKey) {
	return archive.ask({ run: randomUUID(), account: "shop", sourceKey });
}

/** What every archive does once an hour. */
function sweep({ connection, store }: ArchiveFixture): Promise<number> {
	const tombstones = new Tombstones(store);
	const progress = () => NatsProgress.open(connection, 1);
	const all = { progress, store, tombstones, log };
	return sweepDeleted(all, new AbortController().signal);
}

async function objectsOf({ store, sourceKey }: ArchiveFixture) {
	const found: string[] = [];
	const prefix = store.keys.eventsOfSource({ account: "shop", sourceKey });
	for await (const { key } of store.list(prefix)) found.push(key);
	return found;
}

/** As many objects of the source as this, with nothing in them. */
async function fill(archive: ArchiveFixture, count: number): Promise<void> {
	const { store, sourceKey } = archive;
	const group = { account: "shop", sourceKey, date: utcDate(Date.now()) };
	await mapConcurrently(
		Array.from({ length: count }, (_, i) =>
			store.keys.events(group, "filling", i),
		),
		32,
		(key) => store.putNew(key, "x", "text/plain"),
	);
}

test("all events of a deleted source go, also those in the stream, and no others", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { flush } = await archive.start({ maxAgeMs: 600_000 });
	const { sourceKey } = archive;
	await publishBoth(archive, "archived");
	await archive.publish([newEvent("", { sourceKey, quarantined: true })]);
	await flush();
	await publishBoth(archive, "in the stream");
	expect(await archive.askDeletion()).toEqual({ ...done, objects: 2 });
	expect(await archive.rows("quarantine")).toEqual([]);
	expect(await archive.bodies()).toEqual(["~archived", "~in the stream"]);
	await eventually(async () =>
		expect(await archive.streamState()).toMatchObject({ messages: 0 }),
	);
	// Ask again, as the operator does after a crash.
	expect(await archive.askDeletion()).toEqual({ ...done, objects: 0 });
});

test("later events of a deleted source aren't stored, and the shard goes on", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { flush, shard } = await archive.start();
	await publishBoth(archive, "1");
	await archive.askDeletion();
	await publishBoth(archive, "2");
	await archive.publish([newEvent("3", { sourceKey: archive.sourceKey })]);
	await publishBoth(archive, "4");
	await flush();
	expect(await archive.bodies()).toEqual(["~1", "~2", "~4"]);
	expect(shard.alarm).toBeUndefined();
});

test("a deleted source stays forgotten: by the ledger, by manifests, by an archive that starts again", async () => {
	const archive = await ArchiveFixture.open(servers);
	const first = await archive.start();
	await publishBoth(archive, "1");
	await first.flush();
	const run = randomUUID();
	const { sourceKey } = archive;
	const question = { run, account: "shop", sourceKey };
	expect(await archive.ask(question)).toMatchObject({ ok: true });
	await archive.askDeletion();
	const refused = {
		ok: false,
		error: { code: "SourceDeleted", retryable: false },
	};
	// Also to a Run that has a manifest.
	expect(await archive.ask(question)).toMatchObject(refused);
	expect(await publishedLedger(archive)).toMatchObject({
		sourceKey,
		deletedTime: expect.any(String),
	});
	await first.stop();

	const second = await archive.start();
	await publishBoth(archive, "2");
	await second.flush();
	expect(second.shard.index.source("shop", sourceKey)).toBeUndefined();
	expect(await manifestOf(archive)).toMatchObject(refused);
	expect(await manifestOf(archive, "5a".repeat(16))).toMatchObject({
		ok: true,
	});
	expect(await publishedLedger(archive)).toHaveProperty("deletedTime");

	const { ended } = startTidemill(["ledger", "rebuild"], archive.env());
	const { exitCode, stdout } = await ended;
	expect({ exitCode, stdout }).toMatchObject({ exitCode: 0 });
	expect(stdout).not.toContain(sourceKey);
	expect(stdout).toContain("5a".repeat(16));
	expect(await publishedLedger(archive)).toHaveProperty("deletedTime");
});

test("what an archiver writes after it slept through a deletion is swept", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	const isOfSource = (key: string) => key.includes(`source=${sourceKey}/`);
	const asleep = Promise.withResolvers<void>();
	const awake = Promise.withResolvers<void>();
	const zombie = await archive.start({
		maxAgeMs: 20,
		wrapStore: (store) =>
			storeWith(store, {
				putNew: async (key, body, type) => {
					if (isOfSource(key)) {
						asleep.resolve();
						await awake.promise;
					}
					return store.putNew(key, body, type);
				},
			}),
	});
	await publishBoth(archive, "1");
	await asleep.promise;
	await zombie.closeResponders();
	await archive.start();
	expect(await archive.askDeletion()).toMatchObject(done);
	expect(await archive.bodies()).toEqual(["~1"]);

	awake.resolve();
	await eventually(async () =>
		expect(await objectsOf(archive)).toHaveLength(1),
	);
	expect(await sweep(archive)).toBe(1);
	expect(await archive.bodies()).toEqual(["~1"]);
	expect(await sweep(archive)).toBe(0);
});

test("the ledger of an archiver that hasn't heard of the deletion is not published", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { flush, shard } = await archive.start();
	await publishBoth(archive, "1");
	await flush();
	const ledger = ledgerOf(shard.index.source("shop", archive.sourceKey)!);
	await archive.askDeletion();
	const progress = await NatsProgress.open(archive.connection, 1);
	await progress.setLedger(ledger);
	expect(await publishedLedger(archive)).toHaveProperty("deletedTime");
});

test("a NATS that lost its data learns again that the source was deleted", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	await archive.askDeletion();
	const kv = await new Kvm(archive.connection).open(bucket.ledger);
	await kv.purge(archive.sourceKey);
	await sweep(archive);
	expect(await publishedLedger(archive)).toHaveProperty("deletedTime");
});

test("the next archive finishes the deletion of one that was killed amid many objects", async () => {
	const archive = await ArchiveFixture.open(servers);
	await fill(archive, 1_500);
	const { child, ended } = startTidemill(["archive"], archive.env());
	onTestFinished(() => void child.kill("SIGKILL"));
	// Nobody takes questions before archive has subscribed, and it answers none before it has looked at its bucket.
	const asked = eventually(async () =>
		expect(await archive.askDeletion()).toMatchObject({ ok: true }),
	).catch(() => undefined);
	await eventually(async () =>
		expect((await objectsOf(archive)).length).toBeLessThan(1_500),
	);
	child.kill("SIGKILL");
	await ended;
	void asked;
	await archive.start();
	// The gateway may still be busy with the last request.
	await eventually(async () =>
		expect(await archive.askDeletion()).toMatchObject(done),
	);
	expect(await objectsOf(archive)).toEqual([]);
});

test("a shard that has stopped is named as what the deletion waits for", async () => {
	const archive = await ArchiveFixture.open(servers);
	const frame = encodeFrameHead(archive.process, 1, [], 0);
	frame[3] = 9;
	await archive.publishBytes(frame, "x");
	const { shard } = await archive.start();
	await eventually(() => expect(shard.alarm).toBeDefined());
	expect(await archive.askDeletion()).toMatchObject({
		ok: false,
		error: {
			code: "ShardStopped",
			message: expect.stringMatching(
				/^Shard \d+ has stopped with an alarm \(error [0-9a-f]{8} in the log of archive\)\./,
			),
		},
	});
});

test("a deletion says that the store can't be reached, and goes on once it can", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { flush } = await archive.start();
	await publishBoth(archive, "1");
	await flush();
	await servers.s3.kill();
	expect(await archive.askDeletion()).toMatchObject({
		ok: false,
		error: { code: "StoreUnavailable", retryable: true },
	});
	await servers.s3.start();
	expect(await archive.askDeletion()).toEqual({ ...done, objects: 1 });
	expect(await archive.bodies()).toEqual(["~1"]);
});
