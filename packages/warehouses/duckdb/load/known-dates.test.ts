import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { Session } from "../../../duckdb/session.ts";
import { KnownDates } from "./known-dates.ts";

const log = pino({ level: "silent" });
const [older, date] = ["2026-03-01", "2026-03-02"];

/** A file with a table, whose dates a Run has noted. */
async function noted() {
	const directory = await mkdtemp(join(tmpdir(), "known-dates-"));
	onTestFinished(() => rm(directory, { recursive: true, force: true }));
	const file = join(directory, "shop.duckdb");
	const run = async (work: (known: KnownDates, s: Session) => unknown) => {
		const session = await Session.open(
			await DuckDBInstance.create(file),
			new AbortController().signal,
		);
		const known = await KnownDates.read(file);
		try {
			await work(known, session);
			await known.write(session, log);
		} finally {
			session.close();
		}
		return known;
	};
	await run(async (known, session) => {
		await session.run("CREATE TABLE orders AS SELECT 1 AS one");
		known.add("Orders", [older, date], older);
	});
	const has = async () => (await run(() => {})).has("orders", date);
	return { file, run, has };
}

test("a date stays known while only those that note it write the file", async () => {
	const { run, has } = await noted();
	expect(await has()).toBe(true);
	await run((known, session) => {
		known.add("other", [date], older);
		return session.run("INSERT INTO orders VALUES (2)");
	});
	expect(await has()).toBe(true);
});

test("a table that is forgotten, and a date without a record, are known no more", async () => {
	const { run, has } = await noted();
	await run((known) => known.add("orders", [], date));
	const known = await run(() => {});
	expect([older, date].map((day) => known.has("ORDERS", day))).toEqual([
		false,
		true,
	]);
	await run((known) => known.forget("orders"));
	expect(await has()).toBe(false);
});

/** In a process of its own, which has ended or is killed then. */
function change(file: string, end: string): void {
	const program = `
		const { DuckDBInstance } = await import("@duckdb/node-api");
		const instance = await DuckDBInstance.create(${JSON.stringify(file)});
		const connection = await instance.connect();
		await connection.run("UPDATE orders SET one = 7");
		${end}`;
	const { signal, status, stderr } = spawnSync(
		process.execPath,
		["--input-type=module", "--eval", program],
		{ encoding: "utf8" },
	);
	expect(signal ?? status, stderr).toBeOneOf(["SIGKILL", 0]);
}

test.each([
	["somebody else has written the file", "instance.closeSync()"],
	[
		"somebody else was killed before the file had the change",
		'process.kill(process.pid, "SIGKILL")',
	],
])("no date is known after %s", async (_, end) => {
	const { file, has } = await noted();
	change(file, end);
	expect(await has()).toBe(false);
	// The next Run knows only what it read itself.
	expect(await has()).toBe(false);
});

test("no date is known by a note that is torn, too long, or of another file", async () => {
	const [{ file, has }, other] = [await noted(), await noted()];
	const path = `${file}~tidemill`;
	const note = await readFile(path, "utf8");
	const broken = [
		note.slice(0, -9),
		note.padEnd(2 ** 21),
		await readFile(`${other.file}~tidemill`, "utf8"),
	];
	for (const text of broken) {
		await writeFile(path, text);
		expect(await has()).toBe(false);
	}
	await writeFile(path, note);
	expect(await has()).toBe(true);
});

test("a note that can't be written fails nothing", async () => {
	const { file, has } = await noted();
	await rm(`${file}~tidemill`);
	await mkdir(`${file}~tidemill`);
	expect(await has()).toBe(false);
});
