// On a laptop nothing proves this: it takes processes of archive that are restarted. A verb's refusals need the same scene.
import { jetstreamManager } from "@nats-io/jetstream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { NatsProgress } from "../../ingest/archive/write/nats-progress.ts";
import { encodeFrameHead } from "../../ingest/wire/frame.ts";
import { documentedText } from "../support/examples/documented.ts";
import { startArchiveProcess } from "../support/faults/archive-process.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";
import { startTidemill } from "../support/servers/tidemill-process.ts";

/* What docs/reference/errors.md says about alarms, word for word, in place of a client of NATS. */

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

/** The pages' commands in archive's Pod that begin so. */
function commandsOf(
	command: string[],
	filled: Record<string, string>,
): string[] {
	const text = [
		documentedText("docs/reference/errors.md#alarms-of-archive sh"),
		documentedText("docs/runbooks/TidemillArchiveAlarm.md#fix-it sh"),
	].join("");
	const inPod = / deployment\/tidemill-archive -- tidemill (buffer [^>]+)/;
	const withNames = text.replaceAll(/<\w+>/g, (name) => filled[name] ?? name);
	return withNames.split("\n").flatMap((line) => {
		const [, words = ""] = inPod.exec(line) ?? [];
		return words.startsWith(command.join(" ")) ? [words.trim()] : [];
	});
}

async function run(archive: ArchiveFixture, words: string) {
	const { exitCode, stdout, stderr } = await startTidemill(
		words.split(" "),
		archive.env(),
	).ended;
	return { exitCode, stdout, stderr };
}

const runDocumented = (
	archive: ArchiveFixture,
	command: string[],
	index = 0,
	sequence = 0,
) =>
	run(
		archive,
		commandsOf(command, {
			"<stream>": archive.stream,
			"<sequence>": String(sequence),
		})[index]!,
	);

async function intervention({ connection, shard }: ArchiveFixture) {
	const progress = await NatsProgress.open(connection, 1);
	return (await progress.shardState(shard))?.intervention?.text;
}

test("a frame that nobody can read is found, copied and purged by the page's commands, and nothing else is", async () => {
	const archive = await ArchiveFixture.open(servers);
	const frame = encodeFrameHead(archive.process, 1, [], 0);
	frame[3] = 9;
	await archive.publish([newEvent("0")]);
	await archive.publishBytes(frame, "x");
	await archive.publish([newEvent("2")]);
	const purge = (sequence: number) =>
		runDocumented(archive, ["buffer", "purge"], 0, sequence);
	// It isn't the first, and the first can be read.
	expect(await purge(2)).toMatchObject({ exitCode: 1 });
	expect(await purge(1)).toMatchObject({
		exitCode: 1,
		stderr: expect.stringContaining("can read sequence 1"),
	});
	expect(await runDocumented(archive, ["buffer", "give-up"])).toMatchObject({
		exitCode: 1,
		stderr: expect.stringContaining("hasn't stopped shard"),
	});
	expect(await archive.streamState()).toMatchObject({ messages: 3 });

	const stopped = await startArchiveProcess(archive);
	await eventually(async () => {
		expect(await stopped.readyz()).toContain("sequence 2");
		const { stdout } = await runDocumented(archive, ["buffer", "list"]);
		const line = stdout
			.split("\n")
			.find((each) => each.startsWith(archive.stream));
		expect(line).toMatch(
			/\talarm FrameUnreadable\tsequence 2 can't be read: .*version 9/,
		);
	});
	expect(await runDocumented(archive, ["buffer", "give-up"])).toMatchObject({
		exitCode: 1,
		stderr: expect.stringContaining("with FrameUnreadable"),
	});
	const { stdout: copy } = await runDocumented(
		archive,
		["buffer", "copy"],
		0,
		2,
	);
	expect(JSON.parse(copy)).toMatchObject({
		sequence: 2,
		data: Buffer.from(frame).toString("base64"),
	});
	expect(await purge(2)).toMatchObject({ exitCode: 0, stderr: "" });
	expect(await purge(2)).toMatchObject({ exitCode: 0 });
	expect(await intervention(archive)).toContain("Sequence 2 of");

	stopped.child.kill();
	await stopped.ended;
	const { metrics } = await startArchiveProcess(archive);
	await eventually(async () => {
		expect(await archive.bodies()).toEqual(["0", "2"]);
		expect(await metrics()).toMatch(
			/^tidemill_archive_lost_frames\{shard="\d+"\} 1$/m,
		);
	});
});

test("a stream that was restored from an old copy is copied and given up by the page's commands, and archive goes on in a new one", async () => {
	const archive = await ArchiveFixture.open(servers);
	const before = await startArchiveProcess(archive);
	await archive.publish([newEvent("1")]);
	await eventually(async () => expect(await archive.bodies()).toEqual(["1"]));
	before.child.kill();
	await before.ended;
	const { streams } = await jetstreamManager(archive.connection);
	const { config } = await streams.info(archive.stream);
	await streams.delete(archive.stream);
	await streams.add(config);
	const event = newEvent("2");
	await archive.publish([event]);
	const stopped = await startArchiveProcess(archive);
	await eventually(async () => {
		const { stdout } = await runDocumented(archive, ["buffer", "list"]);
		expect(stdout).toContain("\talarm CutMismatch");
	});
	const { stdout: copies } = await runDocumented(
		archive,
		["buffer", "copy"],
		1,
	);
	expect(copies.trim().split("\n")).toHaveLength(1);
	expect(Buffer.from(JSON.parse(copies).data, "base64").includes("2")).toBe(
		true,
	);
	expect(await runDocumented(archive, ["buffer", "give-up"])).toMatchObject({
		exitCode: 0,
		stderr: "",
	});
	expect(await runDocumented(archive, ["buffer", "give-up"])).toMatchObject({
		exitCode: 0,
		stdout: expect.stringContaining("no stream"),
	});
	expect(await intervention(archive)).toContain("is given up");
	stopped.child.kill();
	await stopped.ended;
	const { readyz } = await startArchiveProcess(archive);
	await eventually(async () => expect(await readyz()).toBe("ok\n"));
	await archive.publish([newEvent("3")]);
	await eventually(async () =>
		expect(await archive.bodies()).toEqual(["1", "3"]),
	);
});

test("a stream that isn't a shard's, or isn't there, is left alone", async () => {
	const archive = await ArchiveFixture.open(servers);
	for (const stream of ["KV_tidemill-routes", `${archive.stream}0`])
		expect(
			await run(archive, `buffer purge --stream ${stream} --sequence 1`),
		).toMatchObject({
			exitCode: 1,
			stderr: expect.stringContaining("tidemill buffer list"),
		});
	expect(
		await run(
			archive,
			`buffer purge --stream ${archive.stream} --sequence all`,
		),
	).toMatchObject({
		exitCode: 2,
		stderr: expect.stringContaining('--sequence is "all"'),
	});
});
