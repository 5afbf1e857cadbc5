// In make test: ingest/archive/decide/resume.test.ts
import { randomUUID } from "node:crypto";
import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { createInbox } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CutRecord } from "../../ingest/archive/decide/cut.ts";
import type { CutLoss } from "../../ingest/archive/decide/loss.ts";
import { type ShardState, shardKey } from "../../packages/contracts/ledger.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { bucket, framesSubject } from "../../packages/contracts/nats.ts";
import { utcDate } from "../../packages/contracts/utc-date.ts";
import { firing } from "../support/alerts/firing.ts";
import { mortal } from "../support/faults/mortal-archive.ts";
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

import { startTidemill } from "../support/servers/tidemill-process.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

/** What docs/reference/errors.md has a person ask of NATS: `$JS.API.<what>.<stream>`. */
async function request(
	{ connection, stream }: ArchiveFixture,
	what: string,
	question?: object,
) {
	const text = question && JSON.stringify(question);
	const subject = `$JS.API.${what}.${stream}`;
	const answer = await connection.request(subject, text, { timeout: 120_000 });
	const found = answer.json<{ error?: object; message: { data: string } }>();
	expect(found.error).toBeUndefined();
	return found;
}

/** The bytes of a stream's backup. */
async function backUp(archive: ArchiveFixture): Promise<Buffer> {
	const inbox = createInbox();
	const chunks = archive.connection.subscribe(inbox);
	await request(archive, "STREAM.SNAPSHOT", { deliver_subject: inbox });
	const bytes: Uint8Array[] = [];
	for await (const chunk of chunks) {
		// The last one is empty.
		if (chunk.data.length === 0) break;
		bytes.push(chunk.data);
		chunk.respond();
	}
	chunks.unsubscribe();
	return Buffer.concat(bytes);
}

/** As if the holes that this cut knows of had been there for an hour: until then they prove nothing. */
async function letHolesAge(archive: ArchiveFixture, first: number) {
	const key = archive.keys.cut(archive.stream, first);
	const cut: CutRecord = JSON.parse((await archive.store.get(key))!);
	for (const hole of cut.processes[archive.process]!.holes)
		hole.sinceMs -= 3_600_000;
	await archive.tamper(key, JSON.stringify(cut));
}

/** Publishes these frame numbers as one cut, and stops. */
async function archiveNumbers(archive: ArchiveFixture, ...numbers: number[]) {
	const running = await archive.start({ maxAgeMs: 600_000 });
	for (const number of numbers)
		await archive.publish([newEvent(String(number))], { number });
	await running.flush();
	await running.stop();
}

async function alarmOf({ shard }: RunningArchive, code: string) {
	await eventually(() => expect(shard.alarm?.code).toBe(code));
	return shard.alarm!.message;
}

/** Changes a byte of the text in the files of the stream. */
async function damage(stream: string, text: string): Promise<void> {
	const { storeDirectory } = servers.nats;
	for (const name of await readdir(storeDirectory, { recursive: true })) {
		if (!name.includes(stream) || !name.endsWith(".blk")) continue;
		const file = join(storeDirectory, name);
		const bytes = await readFile(file);
		const at = bytes.indexOf(text);
		if (at < 0) continue;
		bytes[at] = bytes[at]! ^ 0xff;
		await writeFile(file, bytes);
		return;
	}
	throw new Error(`${stream} doesn't hold "${text}"`);
}

/** Publishes four frames. Three fill most of a block of 8 MB on NATS's disk, and the fourth gets another one. */
async function publishTwoBlocks(archive: ArchiveFixture) {
	const { sourceKey } = archive;
	for (const number of [1, 2, 3, 4]) {
		const body = `{"n":"frame ${number}${"x".repeat(2_500_000)}"}`;
		await archive.publish([newEvent(body, { sourceKey })], { number });
	}
}

/** NATS loses the second frame and, with its block, the third. */
async function damageSecond(archive: ArchiveFixture) {
	const { nats } = servers;
	await nats.kill();
	await damage(archive.stream, "frame 2");
	await nats.start();
	await eventually(() => archive.connection.flush());
}

async function cutAt(archive: ArchiveFixture, first: number) {
	const record = await archive.store.get(
		archive.keys.cut(archive.stream, first),
	);
	return JSON.parse(record!) as CutRecord;
}

/** The metric and the ledger bucket, which the operator watches, count so many lost frames. */
async function isTold(
	archive: ArchiveFixture,
	{ registry }: RunningArchive,
	frames: number,
) {
	const kv = await new Kvm(archive.connection).open(bucket.ledger);
	await eventually(async () => {
		const entry = await kv.get(shardKey(archive.shard));
		const { lostFrames } = entry!.json<ShardState>();
		const counts = Object.values(lostFrames);
		expect(counts.reduce((sum, count) => sum + count, 0)).toBe(frames);
	});
	expect(
		await registry.getSingleMetricAsString("tidemill_archive_lost_frames"),
	).toMatch(new RegExp(`} ${frames}$`, "m"));
	expect(
		await firing({ atMs: Date.now(), texts: [await registry.metrics()] }),
	).toContain("TidemillFramesLost");
}

test("a shard goes on without frames that never arrived, and says so in its cut, its metric and its ledger", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archiveNumbers(archive, 1, 3);
	await letHolesAge(archive, 1);
	const running = await archive.start();
	await archive.publish([newEvent("4")], { number: 4 });
	await running.flush();
	expect(await archive.bodies()).toEqual(["1", "3", "4"]);
	expect(running.shard.alarm).toBeUndefined();
	expect(await cutAt(archive, 3)).toMatchObject({
		losses: [{ kind: "frames", process: archive.process, from: 2, to: 2 }],
	});
	await isTold(archive, running, 1);
	await running.stop();

	// A restart and another loss.
	await archiveNumbers(archive, 6);
	await letHolesAge(archive, 4);
	const next = await archive.start();
	await archive.publish([newEvent("7")], { number: 7 });
	await next.flush();
	expect(await archive.bodies()).toEqual(["1", "3", "4", "6", "7"]);
	await isTold(archive, next, 2);
});

test("a shard goes on without sequences that somebody purged, and no others", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archiveNumbers(archive, 1);
	const { streams } = await jetstreamManager(archive.connection);
	for (const number of [2, 3, 4, 5])
		await archive.publish([newEvent(String(number))], { number });
	await streams.purge(archive.stream, { seq: 4 });
	const running = await archive.start();
	await running.flush();
	expect(await archive.bodies()).toEqual(["1", "4", "5"]);
	expect(await cutAt(archive, 2)).toMatchObject({
		first: 2,
		last: 3,
		groups: [],
		losses: [{ kind: "sequences", from: 2, to: 3 }],
	});
	await isTold(archive, running, 2);
	await running.stop();

	// Their numbers are missing, too, and count once.
	await letHolesAge(archive, 4);
	const next = await archive.start();
	await archive.publish([newEvent("6")], { number: 6 });
	await next.flush();
	await isTold(archive, next, 2);
});

test("an unreadable message is given up once it is purged; earlier frames are archived", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.publish([newEvent("1")]);
	await archive.publishBytes(Buffer.from("no frame"), "x");
	await archive.publish([newEvent("2")]);
	const running = await archive.start({ maxAgeMs: 600_000 });
	expect(await alarmOf(running, "FrameUnreadable")).toContain("sequence 2");
	expect(await archive.bodies()).toEqual(["1"]);
	expect(await archive.streamState()).toMatchObject({ messages: 2 });
	await running.stop();

	const copy = await request(archive, "STREAM.MSG.GET", { seq: 2 });
	expect(Buffer.from(copy.message.data, "base64").toString()).toBe("no frame");
	await request(archive, "STREAM.PURGE", { seq: 3 });
	const next = await archive.start();
	await next.flush();
	expect(await archive.bodies()).toEqual(["1", "2"]);
	await isTold(archive, next, 1);
});

test("a shard goes on without frames that were damaged on NATS's disk, and archives those before and behind them", async () => {
	const archive = await ArchiveFixture.open(servers);
	await publishTwoBlocks(archive);
	await damageSecond(archive);
	const running = await archive.start();
	await running.flush();
	const bodies = await archive.bodies();
	expect(bodies.map((body) => body.slice(6, 13))).toEqual([
		"frame 1",
		"frame 4",
	]);
	expect(await cutAt(archive, 2)).toMatchObject({
		last: 3,
		losses: [{ kind: "sequences", from: 2, to: 3 }],
	});
	await isTold(archive, running, 2);
});

test("a restored stream is given up by deleting it, and the lost frames are named", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archiveNumbers(archive, 1);
	const { streams } = await jetstreamManager(archive.connection);
	const { config } = await streams.info(archive.stream);
	await streams.delete(archive.stream);
	await streams.add(config);
	await archive.publish([newEvent("2")], { number: 2 });
	const running = await archive.start();
	await alarmOf(running, "CutMismatch");
	await running.stop();

	expect((await backUp(archive)).length).toBeGreaterThan(0);
	await request(archive, "STREAM.DELETE");
	const first = await archive.start();
	await eventually(async () => {
		const names = streams.names(framesSubject(archive.shard));
		archive.stream = (await names.next())[0]!;
		expect(archive.stream).toBeDefined();
	});
	expect(archive.stream).not.toBe(config.name);
	await archive.publish([newEvent("3")], { number: 3 });
	await first.flush();
	await first.stop();
	await letHolesAge(archive, 1);
	await archive.publish([newEvent("4")], { number: 4 });
	const next = await archive.start();
	await next.flush();
	expect(await archive.bodies()).toEqual(["1", "3", "4"]);
	expect((await cutAt(archive, 2)).losses).toMatchObject([
		{ kind: "frames", process: archive.process, from: 2, to: 2 },
	]);
});

test("after NATS loses frames between their cut and its objects, the shard and Runs go on, and people are told what is gone", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	await publishTwoBlocks(archive);
	const { options, died } = mortal(
		(when, step) => `${when} ${step}` === "after cut",
	);
	// All four are one cut.
	const limits = { maxBytes: 10_000_000, maxAgeMs: 600_000 };
	const first = await archive.start({ ...options, ...limits });
	await died;
	await first.stop();
	expect(await cutAt(archive, 1)).toMatchObject({ last: 4 });
	await damageSecond(archive);
	await letWritersEnd(archive, 1);
	const running = await archive.start();
	await archive.publish([newEvent("5", { sourceKey })], { number: 5 });
	await running.flush();
	expect(await archive.bodies()).toEqual(["5"]);
	expect(await rowsOfRun(archive)).toBe(1);
	expect(await lossOf(archive, 1)).toMatchObject({ from: 1, to: 4 });
	await isTold(archive, running, 4);
});

test("after frames are purged between their cut and its objects, Runs go on, and people are told what is gone", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	await archive.publish([newEvent("1", { sourceKey })]);
	const { options, died } = mortal(
		(when, step) => `${when} ${step}` === "after cut",
	);
	const first = await archive.start(options);
	await died;
	await first.stop();
	const { streams } = await jetstreamManager(archive.connection);
	await streams.purge(archive.stream, { seq: 2 });
	await letWritersEnd(archive, 1);
	const running = await archive.start();
	await archive.publish([newEvent("2", { sourceKey })]);
	await running.flush();
	expect(await archive.bodies()).toEqual(["2"]);
	expect(await rowsOfRun(archive)).toBe(1);
	await isTold(archive, running, 1);
});

const otherKey = "0b".repeat(16);

/** NATS loses the stream with all its data. Of its second cut, the object of one source is written, and that of the other isn't. */
async function loseStream(archive: ArchiveFixture) {
	const { sourceKey, store, stream } = archive;
	const running = await archive.start();
	await archive.publish([newEvent("1", { sourceKey })]);
	await running.flush();
	await archive.publish([
		newEvent("2", { sourceKey: otherKey }),
		newEvent("3", { sourceKey }),
	]);
	await running.flush();
	await running.stop();
	const date = utcDate(Date.now());
	const key = store.keys.events(
		{ account: "shop", sourceKey, date },
		stream,
		2,
	);
	const bytes = await (await fetch(await store.presign(key, 60))).bytes();
	await store.remove([key]);
	const { streams } = await jetstreamManager(archive.connection);
	await streams.delete(stream);
	return () => store.putNew(key, bytes, "application/vnd.apache.parquet");
}

/** Publishes an event of the source into the stream that the shard has now. */
async function publishNext(archive: ArchiveFixture, body: string) {
	const { connection, shard, sourceKey } = archive;
	const { streams } = await jetstreamManager(connection);
	archive.stream = await eventually(async () => {
		const [name] = await streams.names(framesSubject(shard)).next();
		expect(name).toBeDefined();
		return name!;
	});
	await archive.publish([newEvent(body, { sourceKey })]);
}

test("after NATS is lost with a cut's objects unwritten, Runs load what there is, and all archivers and rebuilds agree on what is gone", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey, stream } = archive;
	await loseStream(archive);
	await letWritersEnd(archive, 2);
	const [first, second] = await Promise.all([archive.start(), archive.start()]);
	await publishNext(archive, "4");
	await first.flush();
	expect(await rowsOfRun(archive)).toBe(2);
	expect(await rowsOfRun(archive, otherKey)).toBe(1);
	archive.stream = stream;
	expect(await lossOf(archive, 2)).toMatchObject({
		from: 2,
		to: 2,
		groups: [{ account: "shop", sourceKey, rows: 1 }],
	});
	await isTold(archive, first, 1);
	await isTold(archive, second, 1);
	await first.stop();
	await second.stop();

	const env = archive.env();
	for (let i = 1; i <= 2; i++) {
		const next = await archive.start();
		expect(await rowsOfRun(archive)).toBe(2);
		await isTold(archive, next, 1);
		await next.stop();
		// The next start has its snapshot.
		const { exitCode, stdout } = await startTidemill(["ledger", "rebuild"], env)
			.ended;
		expect(exitCode).toBe(0);
		const date = utcDate(Date.now());
		const found = [
			`shop\t${otherKey}\t${date}\t1\t0`,
			`shop\t${sourceKey}\t${date}\t2\t0`,
		];
		// One of the keys is random, and so is their order.
		expect(stdout.trim().split("\n").sort()).toEqual(found.sort());
	}
});

test("while another archiver may be writing a cut's objects, a lost stream waits for it, and nothing is lost", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { stream } = archive;
	const finish = await loseStream(archive);
	const running = await archive.start();
	await eventually(() =>
		expect(running.shard.notReady).toContain("may be writing"),
	);
	await finish();
	await publishNext(archive, "4");
	await running.flush();
	expect(await rowsOfRun(archive)).toBe(3);
	archive.stream = stream;
	expect(await lossOf(archive, 2)).toMatchObject({ groups: [] });
	await running.stop();

	// What somebody deletes afterwards isn't lost with NATS.
	const { sourceKey, store } = archive;
	const date = utcDate(Date.now());
	await store.remove([
		store.keys.events({ account: "shop", sourceKey, date }, stream, 2),
	]);
	await archive.start();
	expect(await archive.ask(questionOf(archive))).toMatchObject({
		error: { code: "ObjectMissing" },
	});
});

test("a cut whose frames are in a stream that was left isn't lost until that stream is deleted", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey, stream } = archive;
	await archive.publish([newEvent("1", { sourceKey })]);
	const { options, died } = mortal(
		(when, step) => `${when} ${step}` === "after cut",
	);
	const first = await archive.start(options);
	await died;
	await first.stop();
	await letWritersEnd(archive, 1);
	const { streams } = await jetstreamManager(archive.connection);
	await streams.update(stream, { subjects: [`left.${stream}`] });
	const running = await archive.start();
	await publishNext(archive, "2");
	await running.flush();
	expect(await archive.ask(questionOf(archive))).toMatchObject({
		error: { code: "ObjectMissing" },
	});
	await running.stop();

	await streams.delete(stream);
	const env = archive.env();
	const { exitCode } = await startTidemill(["ledger", "rebuild"], env).ended;
	expect(exitCode).toBe(0);
	const next = await archive.start();
	expect(await rowsOfRun(archive)).toBe(1);
	await isTold(archive, next, 1);
	archive.stream = stream;
	expect(await lossOf(archive, 1)).toMatchObject({ from: 1, to: 1 });
});

/** As if a cut had been decided an hour ago: whoever wrote its objects has ended since. */
async function letWritersEnd({ store, stream }: ArchiveFixture, first: number) {
	const seconds = Date.now() / 1000 - 3_600;
	const file = join(servers.s3.bucketDirectory, store.keys.cut(stream, first));
	await utimes(file, seconds, seconds);
}

function questionOf({ sourceKey }: { sourceKey: string }) {
	return { run: randomUUID(), account: "shop", sourceKey };
}

/** How many events a Run loads. */
async function rowsOfRun(
	archive: ArchiveFixture,
	sourceKey = archive.sourceKey,
) {
	const answer = await archive.ask(questionOf({ sourceKey }));
	if (!answer.ok) throw new Error(answer.error.message);
	const response = await fetch(answer.url);
	const { dates } = (await response.json()) as Manifest;
	return dates.reduce((sum, { rows }) => sum + rows, 0);
}

/** What was decided to be lost of a cut. */
async function lossOf({ store, stream }: ArchiveFixture, first: number) {
	const record = await store.get(store.keys.loss(stream, first));
	return record && (JSON.parse(record) as CutLoss).loss;
}
