// In make test: test/data-plane/archive.laptop.test.ts
import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { pino } from "pino";
import { parse, stringify } from "uuid";
import { expect, onTestFinished, test } from "vitest";
import { openShardStream } from "../../../ingest/archive/read/shard-stream.ts";
import {
	entryKey,
	IdempotencyBucket,
} from "../../../ingest/wire/idempotency-bucket.ts";
import { claimed } from "../../../ingest/wire/idempotency-entry.ts";
import { bucket } from "../../../packages/contracts/nats.ts";
import { isNoRoom } from "../../../packages/service/nats/connection.ts";
import { readBacklogs } from "../../../packages/streams/backlogs.ts";
import { startArchiveProcess } from "../../support/faults/archive-process.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../../support/fixtures/data-plane/archive-fixture.ts";
import {
	startReceiver,
	TestRoutes,
	untilReady,
} from "../../support/fixtures/data-plane/receiver.ts";
import { sendJSON } from "../../support/senders/http-client.ts";
import {
	connectAs,
	startNats,
	startS3,
	type TestNats,
} from "../../support/servers/servers.ts";
import { accessStore } from "../../support/servers/store-access.ts";

const mib = 1024 ** 2;
const digest = "ab".repeat(16);

type NatsConfig = ReturnType<typeof JSON.parse>;

test("archive empties a buffer that has no room left on NATS's disk, and receive's keys stay one event each", async () => {
	const { archive, nats } = await startScene();
	const sent = await workedBefore(archive);
	// As on a disk that has shrunk: the stream reserves more than there is, so NATS changes no stream's settings either.
	await restart(nats, (config) => {
		config.jetstream.max_file_store = 24 * mib;
	});
	const event = await claim(archive);
	sent.push(...(await fill(archive, 3)));
	for (const body of ['"first of a key"', '"second of a key"'])
		await archive.publish([{ ...event, body: Buffer.from(body) }]);
	sent.push('"first of a key"', ...(await fill(archive)));
	await restartsWell(archive, sent);
	const kept = await keys(archive).then((keys) => keys.read(keyOf(event)));
	expect(kept?.entry.state).toBe("stored");
});

test("archive empties a buffer whose account has no room left, whoever takes it", async () => {
	const { archive } = await startScene((config) => {
		config.accounts.tidemill.jetstream = { max_file: 80 * mib };
	});
	const sent = await workedBefore(archive);
	const { streams } = await jetstreamManager(archive.connection);
	await streams.add({ name: "others", subjects: ["others"] });
	for (let n = 0; n < 60; n++)
		await jetstream(archive.connection).publish("others", Buffer.alloc(mib));
	sent.push(...(await fill(archive)));
	// An account takes what still fits.
	for (const size of [100_000, 1_000, 1])
		for (;;) {
			const published = jetstream(archive.connection).publish(
				"others",
				Buffer.alloc(size),
			);
			if (await published.then(() => false, isNoRoom)) break;
		}
	await restartsWell(archive, sent);
});

test("receive leaves JetStream the room that archive needs, and says so while it refuses events", async () => {
	const { archive, nats } = await startScene((config) => {
		config.jetstream.max_file_store = 80 * mib;
	});
	const { streams } = await jetstreamManager(archive.connection);
	await streams.add({ name: "others", subjects: ["others"] });
	for (let n = 0; n < 50; n++)
		await jetstream(archive.connection).publish("others", Buffer.alloc(mib));
	const routes = new TestRoutes(archive.connection);
	await routes.markSynced();
	const { path } = await routes.add();
	const other = await routes.add({ account: "other" });
	const receiver = await startReceiver(nats);
	onTestFinished(() => receiver.stop());
	await untilReady(receiver);
	const readyz = async () =>
		(await fetch(`${receiver.healthUrl}/readyz`)).text();
	expect(await readyz()).toBe("ok\n");

	const stored: string[] = [];
	const send = async () => {
		const body = JSON.stringify(`${stored.length} ${"x".repeat(900_000)}`);
		const { status } = await sendJSON(receiver.url + path, body);
		if (status === 200) stored.push(body);
		return status;
	};
	await eventually(async () => expect(await send()).toBe(200));
	while ((await send()) === 200);
	expect(stored.length).toBeGreaterThan(5);
	// One account alone gets four fifths of the room. Somebody takes the rest.
	for (let n = 0; n < 4; n++)
		await jetstream(archive.connection).publish("others", Buffer.alloc(mib));
	await eventually(async () =>
		expect(await readyz()).toMatch(
			/^ok: shard 0: JetStream is full: the server/,
		),
	);
	// Another account isn't refused for what the first one has stored.
	const refused = await sendJSON(receiver.url + other.path, "1");
	expect([refused.status, refused.json.error?.code]).toEqual([
		503,
		"StorageUnavailable",
	]);
	const operator = await connectAs(nats, "operator");
	onTestFinished(() => operator.close());
	const [reading] = await readBacklogs(operator, [0]);
	const { bytes, limitBytes } = reading!.backlog!;
	expect(bytes / limitBytes!).toBeGreaterThan(0.9);
	// What archive writes has room.
	const kv = await new Kvm(archive.connection).open(bucket.objectsDone);
	await kv.put("test", "x".repeat(mib / 2));

	await startArchiveProcess(archive);
	await untilEmpty(archive);
	expect((await archive.bodies()).length).toBeGreaterThanOrEqual(stored.length);
	await eventually(async () => expect(await send()).toBe(200));
	await eventually(async () => expect(await readyz()).toBe("ok\n"));
	await untilEmpty(archive);
	const bodies = new Set(await archive.bodies());
	expect(stored.filter((body) => !bodies.has(body))).toEqual([]);
});

test("a changed limit reaches a stream that is there, and never one that has no room for it", async () => {
	const { archive } = await startScene((config) => {
		config.jetstream.max_file_store = 100 * mib;
	});
	const { connection, shard, stream } = archive;
	const { streams } = await jetstreamManager(connection);
	for (const [wanted, expected] of [
		[80, 80],
		[120, 80],
		[64, 64],
	]) {
		const settings = { replicas: 1, maxBytes: wanted! * mib };
		const log = pino({ level: "silent" });
		expect(await openShardStream(connection, shard, settings, log)).toBe(
			stream,
		);
		const { config } = await streams.info(stream);
		expect(config.max_bytes).toBe(expected! * mib);
	}
});

async function startScene(edit?: (config: NatsConfig) => void) {
	const [nats, s3] = await Promise.all([startNats(edit), startS3()]);
	accessStore(s3);
	const stop = async () => {
		await nats.stop();
		await s3.stop();
	};
	onTestFinished(stop);
	const archive = await ArchiveFixture.open({ nats, s3, stop }, 0);
	return { archive, nats };
}

/** An archive of before has made what it needs. */
async function workedBefore(archive: ArchiveFixture) {
	const process = await startArchiveProcess(archive);
	await archive.publish([newEvent('"before"')]);
	await untilEmpty(archive);
	process.child.kill("SIGKILL");
	await process.ended;
	return ['"before"'];
}

async function restart(nats: TestNats, edit: (config: NatsConfig) => void) {
	const file = join(dirname(nats.storeDirectory), "nats.conf");
	const config = JSON.parse(await readFile(file, "utf8"));
	edit(config);
	await nats.kill();
	await writeFile(file, JSON.stringify(config));
	await nats.start();
}

/** Publishes frames of a megabyte until NATS refuses one, which is in no frame then. Returns the bodies. */
async function fill(archive: ArchiveFixture, most = Infinity) {
	const sent: string[] = [];
	while (sent.length < most) {
		const body = JSON.stringify(`${sent.length} ${"x".repeat(1_000_000)}`);
		const isTaken = await archive.publish([newEvent(body)]).then(
			() => true,
			(error) => {
				if (!isNoRoom(error)) throw error;
				return false;
			},
		);
		if (!isTaken) break;
		sent.push(body);
	}
	return sent;
}

/** A receiver has claimed the key of this event, and died before it said that the event is stored. */
async function claim(archive: ArchiveFixture) {
	const event = newEvent("", { id: parse(randomUUID()), key: digest });
	const times = { nowMs: Date.now(), windowMs: 3_600_000, shard: 0 };
	const entry = claimed(stringify(event.id), "claim", times);
	const bucket = await keys(archive);
	// NATS has just been restarted.
	await eventually(() => bucket.write(keyOf(event), entry, 0));
	return event;
}

function keyOf({ account }: { account: string }): string {
	return entryKey(account, digest);
}

function keys({ connection }: ArchiveFixture): Promise<IdempotencyBucket> {
	return IdempotencyBucket.open(connection, 10_000);
}

/** A new archive makes room by itself, loses nothing, and says afterwards how far it is. */
async function restartsWell(archive: ArchiveFixture, sent: string[]) {
	const { readyz } = await startArchiveProcess(archive);
	await untilEmpty(archive);
	expect(await archive.bodies()).toEqual(sent.sort());
	await archive.publish([newEvent('"after"')]);
	await untilEmpty(archive);
	expect(await archive.bodies()).toEqual([...sent, '"after"'].sort());
	await eventually(async () => {
		expect(await readyz()).toBe("ok\n");
		const kvm = new Kvm(archive.connection);
		const done = await (await kvm.open(bucket.objectsDone)).get(archive.stream);
		expect(Number(done?.string())).toBe(await archive.lastSequence());
		const announced = await (await kvm.open(bucket.archives)).keys();
		expect((await Array.fromAsync(announced)).length).toBeGreaterThan(1);
	});
}

async function untilEmpty(archive: ArchiveFixture): Promise<void> {
	await eventually(async () =>
		expect((await archive.streamState()).messages).toBe(0),
	);
}
