import { randomUUID } from "node:crypto";
import { jetstreamManager } from "@nats-io/jetstream";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AlarmCode } from "../../ingest/archive/decide/alarm.ts";
import {
	readFrameHeader,
	readStreamAt,
} from "../../ingest/archive/read/shard-stream.ts";
import { encodeFrameHead, frameId } from "../../ingest/wire/frame.ts";
import { probeConditionalWrites } from "../../packages/bucket/store-probe.ts";
import { firing } from "../support/alerts/firing.ts";
import { MemoryStore } from "../support/doubles/memory-store.ts";
import { startArchiveProcess } from "../support/faults/archive-process.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import type { RunningArchive } from "../support/fixtures/data-plane/running-archive.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

/** The shard has stopped, says so everywhere, and has left the stream as it was. */
async function expectAlarm(
	archive: ArchiveFixture,
	{ shard, registry, flush }: RunningArchive,
	code: AlarmCode,
	messages: number,
) {
	await eventually(() => expect(shard.alarm?.code).toBe(code));
	expect(shard.notReady).toContain(shard.alarm!.message);
	expect(
		await registry.getSingleMetricAsString("tidemill_archive_alarm"),
	).toContain(`tidemill_archive_alarm{shard="${archive.shard}"} 1`);
	expect(
		await firing({ atMs: Date.now(), texts: [await registry.metrics()] }),
	).toContain("TidemillArchiveAlarm");
	await expect(flush()).rejects.toBe(shard.alarm);
	if (messages > 0)
		expect(
			await registry.getSingleMetricAsString("tidemill_archive_lag_seconds"),
		).toMatch(/} (?!0$)[\d.]+$/m);
	expect(await archive.streamState()).toMatchObject({ messages });
	expect(
		await archive.ask({
			run: randomUUID(),
			account: "shop",
			sourceKey: archive.sourceKey,
		}),
	).toMatchObject({
		ok: false,
		error: {
			code: "ShardStopped",
			// The account's people read an id. The alarm's own words name the stream, and are in archive's log.
			message: expect.stringMatching(
				/^Shard \d+ has stopped with an alarm \(error [0-9a-f]{8} in the log of archive\)\./,
			),
			retryable: false,
		},
	});
}

/** Archives one frame and stops, so that there is a newest cut. */
async function archiveOne(archive: ArchiveFixture) {
	const running = await archive.start();
	await archive.publish([newEvent("1")]);
	await running.flush();
	await eventually(async () =>
		expect(await archive.streamState()).toMatchObject({ messages: 0 }),
	);
	await running.stop();
}

test("a frame of an unknown version stops the shard", async () => {
	const archive = await ArchiveFixture.open(servers);
	const frame = encodeFrameHead(archive.process, 1, [], 0);
	frame[3] = 9;
	await archive.publishBytes(frame, "x");
	await archive.publish([newEvent("2")], { number: 2 });
	await expectAlarm(archive, await archive.start(), "FrameUnreadable", 2);
	expect(await archive.rows()).toEqual([]);
});

test("a cut record that contradicts the stream stops the shard", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.publish([newEvent("1")]);
	const mark = { id: "other.1", time: new Date().toISOString() };
	await archive.store.putNew(
		archive.keys.cut(archive.stream, 1),
		JSON.stringify({
			version: 1,
			stream: archive.stream,
			first: 1,
			last: 1,
			firstFrame: mark,
			lastFrame: mark,
			repeated: [],
			groups: [],
			processes: {},
		}),
		"application/json",
	);
	await expectAlarm(archive, await archive.start(), "CutMismatch", 1);
	expect(await archive.rows()).toEqual([]);
});

test("cut records that aren't the stream's stop the shard, as after a change of the bucket or its prefix", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archiveOne(archive);
	await archive.tamper(archive.keys.cut(archive.stream, 1));
	await archive.publish([newEvent("2")]);
	await expectAlarm(archive, await archive.start(), "CutsMissing", 1);
});

test("a stream that ends before the newest cut stops the shard", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archiveOne(archive);
	const { streams } = await jetstreamManager(archive.connection);
	const { config } = await streams.info(archive.stream);
	// As after a restore from a backup older than the cut.
	await streams.delete(archive.stream);
	await streams.add(config);
	await expectAlarm(archive, await archive.start(), "StreamBehind", 0);
});

test("a stream that was restored from an old copy and has grown again stops the shard", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archiveOne(archive);
	const { streams } = await jetstreamManager(archive.connection);
	const { config } = await streams.info(archive.stream);
	await streams.delete(archive.stream);
	await streams.add(config);
	await archive.publish([newEvent("2")]);
	await expectAlarm(archive, await archive.start(), "CutMismatch", 1);
	expect(await archive.bodies()).toEqual(["1"]);
});

test("the headers of a large frame tell which one it is", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { connection, stream, process } = archive;
	const bytes = 300_000;
	for (let frame = 0; frame < 2; frame++)
		await archive.publish([newEvent(`"${"x".repeat(bytes)}"`)]);
	const { streams } = await jetstreamManager(connection);
	const at = (sequence: number) =>
		readFrameHeader(connection, stream, sequence, bytes);
	const second = await readStreamAt(streams, stream, 2);
	expect(second.lastFrame?.id).toBe(frameId(process, 2));
	expect(await at(2)).toEqual(second.lastFrame);
	// The frame after a purged one isn't taken for it.
	await streams.purge(stream, { seq: 2 });
	expect(await at(1)).toBeUndefined();
	expect(await readFrameHeader(connection, stream, 2, 1_000)).toBeUndefined();
});

test("a stream that would forget frames is refused until it is put right", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { streams } = await jetstreamManager(archive.connection);
	await streams.update(archive.stream, { max_age: 3600e9 });
	await archive.publish([newEvent("1")]);
	const { shard, flush } = await archive.start();
	await eventually(() => expect(shard.notReady).toContain("max_age must be 0"));
	expect(await archive.rows()).toEqual([]);
	await streams.update(archive.stream, { max_age: 0 });
	await flush();
	expect(await archive.bodies()).toEqual(["1"]);
});

test("a store that ignores If-None-Match is refused", async () => {
	const careless = new MemoryStore();
	careless.putNew = async () => "created";
	await expect(probeConditionalWrites(careless, "probe")).rejects.toThrow(
		"ignores If-None-Match",
	);
	const archive = await ArchiveFixture.open(servers);
	await probeConditionalWrites(archive.store, archive.keys.probe());
	// At the second start, too, when the key is there.
	await probeConditionalWrites(archive.store, archive.keys.probe());
});

test.each([
	["S3_BUCKET", "nowhere", "NoSuchBucket"],
	["AWS_ACCESS_KEY_ID", "wrong", "XAdminUserNotFound"],
	["AWS_SECRET_ACCESS_KEY", "wrong", "SignatureDoesNotMatch"],
])(
	"a wrong %s is named in the log and on /readyz",
	async (name, value, code) => {
		const archive = await ArchiveFixture.open(servers);
		const { child, ended, readyz } = await startArchiveProcess(archive, {
			[name]: value,
		});
		await eventually(async () => {
			const reason = await readyz();
			expect(reason).toContain(code);
			expect(reason).toContain(name);
		});
		child.kill();
		expect((await ended).stdout).toContain(code);
	},
);

test("archive gets ready, and SIGTERM ends it with 0", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { child, ended, readyz } = await startArchiveProcess(archive);
	await eventually(async () => expect(await readyz()).toBe("ok\n"));
	await archive.publish([newEvent("1")]);
	await eventually(async () => expect(await archive.bodies()).toEqual(["1"]));
	child.kill("SIGTERM");
	expect(await ended).toMatchObject({ exitCode: 0, stderr: "" });
});

test("SIGTERM ends an archive with 0 that never reached NATS", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { child, ended, readyz } = await startArchiveProcess(archive, {
		NATS_URL: "nats://127.0.0.1:1",
	});
	await eventually(async () => expect(await readyz()).toContain("NATS"));
	child.kill("SIGTERM");
	expect((await ended).exitCode).toBe(0);
});
