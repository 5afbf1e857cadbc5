import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { jetstreamManager } from "@nats-io/jetstream";
import { createInbox } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { framesSubject } from "../../contracts/nats.ts";
import type { CutRecord } from "../../ingest/archive/decide/cut.ts";
import {
	consoleExamples,
	isShown,
} from "../support/examples/console-examples.ts";
import { mortal } from "../support/faults/mortal-archive.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
	type RunningArchive,
} from "../support/fixtures/data-plane/archive-fixture.ts";
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

/** What a person types behind `tidemill shard`. */
function shardCommand(archive: ArchiveFixture, ...args: string[]) {
	return startTidemill(["shard", ...args], archive.env()).ended;
}

function accept(archive: ArchiveFixture, loss: string) {
	return shardCommand(
		archive,
		"accept-loss",
		archive.stream,
		loss,
		"--by=ada",
		"--reason=the disk is gone",
	);
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

async function alarmMetric({ registry }: RunningArchive) {
	return registry.getSingleMetricAsString("tidemill_archive_alarm");
}

test("a shard that misses frames goes on without them once a person has accepted that, as documented, and stops for the next", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archiveNumbers(archive, 1, 3);
	await letHolesAge(archive, 1);
	await archive.publish([newEvent("4")], { number: 4 });
	const running = await archive.start();
	const loss = `frames-${archive.process}-2-2`;
	expect(await alarmOf(running, "FrameGap")).toContain(
		`tidemill shard accept-loss ${archive.stream} ${loss}`,
	);
	const page = await readFile("docs/reference/errors.md", "utf8");
	for (const { command, shown } of consoleExamples(page))
		await eventually(async () => {
			const { stdout } = await promisify(execFile)("sh", ["-c", command], {
				env: {
					...archive.env(),
					PATH: `${resolve("bin")}:${process.env.PATH}`,
					STREAM: archive.stream,
					LOSS: loss,
				},
			});
			if (!isShown(stdout, shown)) expect(stdout).toBe(shown);
		});
	await eventually(() => expect(running.shard.alarm).toBeUndefined());
	await running.flush();
	expect(await archive.bodies()).toEqual(["1", "3", "4"]);
	expect(await alarmMetric(running)).toMatch(/} 0$/m);
	// The second one is told who was first.
	const again = await shardCommand(
		archive,
		"accept-loss",
		archive.stream,
		loss,
		"--by=bob",
		"--reason=me too",
	);
	expect(again.stdout).toContain("by ada");
	await running.stop();

	await archiveNumbers(archive, 6);
	await letHolesAge(archive, 4);
	await archive.publish([newEvent("7")], { number: 7 });
	const next = await archive.start();
	expect(await alarmOf(next, "FrameGap")).toContain("frames 5 to 5");
	expect(await archive.bodies()).toEqual(["1", "3", "4", "6"]);
});

test("purged sequences are given up once the loss is accepted, and no others", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archiveNumbers(archive, 1);
	const { streams } = await jetstreamManager(archive.connection);
	for (const number of [2, 3, 4, 5])
		await archive.publish([newEvent(String(number))], { number });
	await streams.purge(archive.stream, { seq: 4 });
	const running = await archive.start();
	await alarmOf(running, "FramesMissing");
	await eventually(async () =>
		expect((await accept(archive, "sequences-2-3")).exitCode).toBe(0),
	);
	await eventually(() => expect(running.shard.alarm).toBeUndefined());
	await running.flush();
	expect(await archive.bodies()).toEqual(["1", "4", "5"]);
	const record = await archive.store.get(archive.keys.cut(archive.stream, 2));
	expect(JSON.parse(record!)).toMatchObject({
		first: 2,
		last: 3,
		groups: [],
		lost: { by: "ada", reason: "the disk is gone" },
	});
	await running.stop();

	for (const number of [6, 7])
		await archive.publish([newEvent(String(number))], { number });
	await streams.purge(archive.stream, { seq: 7 });
	const next = await archive.start();
	expect(await alarmOf(next, "FramesMissing")).toContain("sequences-6-6");
	expect(await archive.bodies()).toEqual(["1", "4", "5"]);
});

test("an unreadable message is given up once it is purged and the loss is accepted; earlier frames are archived", async () => {
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
	await alarmOf(next, "FramesMissing");
	await eventually(async () =>
		expect((await accept(archive, "sequences-2-2")).exitCode).toBe(0),
	);
	await eventually(() => expect(next.shard.alarm).toBeUndefined());
	await next.flush();
	expect(await archive.bodies()).toEqual(["1", "2"]);
});

test("a stream that was restored is given up by deleting it; what went with it is named, and can be accepted", async () => {
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
	expect(await alarmOf(next, "FrameGap")).toContain("frames 2 to 2");
	const loss = `frames-${archive.process}-2-2`;
	await eventually(async () =>
		expect((await accept(archive, loss)).exitCode).toBe(0),
	);
	await eventually(() => expect(next.shard.alarm).toBeUndefined());
	await next.flush();
	expect(await archive.bodies()).toEqual(["1", "3", "4"]);
});

test("after frames are purged between their cut and its objects, a Run fails and names the missing object", async () => {
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
	const { flush } = await archive.start();
	await archive.publish([newEvent("2", { sourceKey })]);
	await flush();
	expect(await archive.bodies()).toEqual(["2"]);
	const run = randomUUID();
	expect(await archive.ask({ run, account: "shop", sourceKey })).toMatchObject({
		ok: false,
		error: {
			code: "ObjectMissing",
			message: expect.stringContaining(
				`${archive.stream}-00000000000000000001`,
			),
		},
	});
});

test("nothing is accepted that archive hasn't found, and nothing without a name and a reason", async () => {
	const archive = await ArchiveFixture.open(servers);
	const early = await accept(archive, "sequences-1-5");
	expect(early).toMatchObject({
		exitCode: 1,
		stderr: expect.stringContaining("only a found loss can be accepted"),
	});
	expect((await shardCommand(archive, "losses")).stdout).toBe(
		"Archive has found no losses.\n",
	);
	for (const args of [
		[],
		["accept-loss", archive.stream],
		["accept-loss", archive.stream, "sequences-1-5", "--by=ada"],
		["losses", "all"],
		["accept-loss", archive.stream, "sequences-1-5", "--force"],
	]) {
		const { exitCode, stderr } = await shardCommand(archive, ...args);
		expect(exitCode).toBe(2);
		expect(stderr).toContain("tidemill shard losses");
	}
});
