import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { terminationMessage } from "./container.ts";
import { ContainerLog } from "./container-log.ts";
import { type LogOptions, readLog } from "./log-server.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const once: LogOptions = { follow: false, timestamps: false, previous: false };
let directory = "";
let path = "";
let log: ContainerLog;

beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "tidemill-log-"));
	path = join(directory, "main.log");
	log = new ContainerLog(path, (error) => {
		throw error;
	});
});

afterEach(() => rm(directory, { recursive: true }));

function say(text: string, atMs = now, stream: "stdout" | "stderr" = "stdout") {
	log.append(stream, Buffer.from(text), atMs);
}

async function read(
	options: Partial<LogOptions> = {},
	signal = new AbortController().signal,
) {
	const pieces: Buffer[] = [];
	const all = { ...once, ...options };
	for await (const piece of readLog(path, all, log, signal)) pieces.push(piece);
	return Buffer.concat(pieces).toString();
}

test("lines are stored as records of the Container Runtime Interface", async () => {
	say("out\nunfin");
	say("err\n", now, "stderr");
	say("ished\nend");
	log.close(now);
	const at = "2026-01-01T00:00:00.000Z";
	expect(await readFile(path, "utf8")).toBe(
		`${at} stdout F out\n${at} stderr F err\n${at} stdout F unfinished\n${at} stdout F end\n`,
	);
});

test("a long line is read back byte for byte", async () => {
	const line = `${"ü".repeat(20_000)}\n`;
	const bytes = Buffer.from(line);
	log.append("stdout", bytes.subarray(0, 16_385), now);
	log.append("stdout", bytes.subarray(16_385), now);
	log.close(now);
	expect(await read()).toBe(line);
});

test("the options choose what is read", async () => {
	say("one\n", now);
	say("two\n", now + 1_000);
	say("three\n", now + 2_000);
	expect(await read({ tailLines: 2 })).toBe("two\nthree\n");
	expect(await read({ tailLines: 0 })).toBe("");
	expect(await read({ tailLines: 9 })).toBe("one\ntwo\nthree\n");
	expect(await read({ sinceMs: now + 1_000 })).toBe("two\nthree\n");
	expect(await read({ limitBytes: 5 })).toBe("one\nt");
	expect(await read({ tailLines: 1, timestamps: true })).toBe(
		"2026-01-01T00:00:02.000Z three\n",
	);
});

test("a follower reads new output until the container has ended", async () => {
	say("before\n");
	const following = readLog(
		path,
		{ ...once, follow: true },
		log,
		new AbortController().signal,
	);
	const next = async () => String((await following.next()).value);
	expect(await next()).toBe("before\n");
	const later = next();
	say("later\n");
	expect(await later).toBe("later\n");
	const end = following.next();
	log.close(now);
	expect((await end).done).toBe(true);
});

test("a follower that leaves is released", async () => {
	const gone = new AbortController();
	const reading = read({ follow: true }, gone.signal);
	gone.abort();
	expect(await reading).toBe("");
});

test.runIf(existsSync("/dev/full"))(
	"a full disk costs the log, not the node",
	async () => {
		const told: unknown[] = [];
		const full = new ContainerLog("/dev/full", (error) => told.push(error));
		full.append("stdout", Buffer.from("a\nb\n"), now);
		full.close(now);
		expect(told).toEqual([expect.objectContaining({ code: "ENOSPC" })]);
	},
);

test("the termination message is the message file, or after a failure the end of the log if the policy allows it", async () => {
	const files = { message: join(directory, "message"), log: path };
	say("why\n");
	log.close(now);
	const fallback = { terminationMessagePolicy: "FallbackToLogsOnError" };
	expect(await terminationMessage({}, files, 1)).toBeUndefined();
	expect(await terminationMessage(fallback, files, 0)).toBeUndefined();
	expect(await terminationMessage(fallback, files, 1)).toBe("why\n");
	await writeFile(files.message, "x".repeat(5_000));
	expect(await terminationMessage(fallback, files, 1)).toBe("x".repeat(4_096));
});
