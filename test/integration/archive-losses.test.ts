import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { jetstreamManager } from "@nats-io/jetstream";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CutRecord } from "../../ingest/archive/shard/cut.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
	type RunningArchive,
} from "../archive-fixture.ts";
import { type Servers, startServers } from "../archive-servers.ts";
import { consoleExamples, shownPattern } from "../console-examples.ts";
import { startTidemill } from "../tidemill-process.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

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
			expect(stdout).toMatch(shownPattern(shown));
		});
	await eventually(() => expect(running.shard.alarm).toBeUndefined());
	await running.flush();
	expect(await archive.bodies()).toEqual(["1", "3", "4"]);
	expect(await alarmMetric(running)).toMatch(/} 0$/m);
	// Who comes second is told who was first.
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

test("sequences that somebody purged are given up once that is accepted, and no others", async () => {
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

test("nothing is accepted that archive hasn't found, and nothing without a name and a reason", async () => {
	const archive = await ArchiveFixture.open(servers);
	const early = await accept(archive, "sequences-1-5");
	expect(early).toMatchObject({
		exitCode: 1,
		stderr: expect.stringContaining("nothing is accepted before"),
	});
	expect((await shardCommand(archive, "losses")).stdout).toBe(
		"Archive has found nothing to be missing.\n",
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
