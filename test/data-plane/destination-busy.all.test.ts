// In make test: ingest/load/load-days.test.ts
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { memoryDisk } from "../support/faults/loop-disk.ts";
import {
	eventsOf,
	type LoadFixture,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";
import { isRoot } from "../support/servers/postgres.ts";
import { startTidemill } from "../support/servers/tidemill-process.ts";

const date = "2026-03-01";

/** A loaded table whose file this process has open. */
async function held(): Promise<LoadFixture & { release: () => void }> {
	const fixture = await loadFixture();
	const days = await fixture.manifest({ [date]: [eventsOf(date, 2, "a")] });
	expect((await fixture.load(days)).exitCode).toBe(0);
	const reader = await DuckDBInstance.create(fixture.file, {
		access_mode: "READ_ONLY",
	});
	return { ...fixture, release: () => reader.closeSync() };
}

async function check(
	{ warehouse, scratch }: Pick<LoadFixture, "warehouse" | "scratch">,
	path: string,
) {
	await writeFile(
		join(scratch, "input.json"),
		JSON.stringify({
			version: 1,
			account: "shop",
			destination: { type: "DuckDB", path },
		}),
	);
	const { exitCode, stdout } = await startTidemill(
		["check", "--input", join(scratch, "input.json")],
		{
			TIDEMILL_WAREHOUSE: warehouse,
			TIDEMILL_SCRATCH: scratch,
			TIDEMILL_RESULT: join(scratch, "result"),
			TIDEMILL_BUSY_WAIT_MS: "300",
		},
	).ended;
	const result = JSON.parse(await readFile(join(scratch, "result"), "utf8"));
	return { exitCode, result, log: stdout };
}

test("a load waits for a reader and then goes on", async () => {
	const { manifest, start, rows, release } = await held();
	const { process, finish } = await start(
		await manifest({ [date]: [eventsOf(date, 3, "b")] }),
	);
	process.onLine = (line) => {
		if (line.includes("in use; waiting")) release();
	};
	const { exitCode, log } = await finish();
	expect(exitCode, log).toBe(0);
	expect(await rows("select count(*)::int from orders")).toEqual([[3]]);
});

test("a load that doesn't get the file says who has it, and is retryable", async () => {
	const { manifest, load, release } = await held();
	const { exitCode, result } = await load(
		await manifest({ [date]: [eventsOf(date, 3, "b")] }),
		{ env: { TIDEMILL_BUSY_WAIT_MS: "300" } },
	);
	expect(exitCode).toBe(75);
	expect(result).toMatchObject({
		error: {
			code: "DestinationBusy",
			message: expect.stringContaining(`PID ${process.pid}`),
			retryable: true,
		},
	});
	release();
});

test("a check makes the file; a second one finds it; a reader doesn't make it unready", async () => {
	const fixture = await loadFixture();
	for (let round = 0; round < 2; round++)
		expect(await check(fixture, "shop.duckdb")).toMatchObject({
			exitCode: 0,
			result: { outcome: "Succeeded" },
		});
	expect(await fixture.rows("select * from duckdb_tables()")).toEqual([]);
	const reader = await DuckDBInstance.create(fixture.file, {
		access_mode: "READ_ONLY",
	});
	expect((await check(fixture, "shop.duckdb")).exitCode).toBe(0);
	reader.closeSync();
});

test("a check of a file that is no DuckDB database says so", async () => {
	const fixture = await loadFixture();
	await writeFile(fixture.file, "a,b\n1,2\n");
	expect(await check(fixture, "shop.duckdb")).toMatchObject({
		exitCode: 65,
		result: { error: { code: "DestinationUnreadable", retryable: false } },
	});
});

test("sql waits for a Run that has the file, and says so", async () => {
	const { file, release } = await held();
	release();
	const writer = await DuckDBInstance.create(file);
	const { child, ended } = startTidemill([
		"sql",
		"--file",
		file,
		"--format=json",
		"select count(*) as n from orders",
	]);
	child.stderr?.on("data", (text: string) => {
		if (text.includes("Waiting for")) writer.closeSync();
	});
	expect(await ended).toMatchObject({ exitCode: 0, stdout: '{"n":2}\n' });
});

test("sql finds the destination, and never changes it", async () => {
	const { file, warehouse, release } = await held();
	release();
	const sql = (...args: string[]) => startTidemill(["sql", ...args]).ended;
	expect(
		(await sql("--file", file, "select event_id, date from orders")).stdout,
	).toBe(
		[
			" event_id       | date",
			"----------------+------------",
			" 2026-03-01-a-0 | 2026-03-01",
			" 2026-03-01-a-1 | 2026-03-01",
			"(2 rows)",
			"",
		].join("\n"),
	);
	const change = await sql("--file", file, "delete from orders");
	expect(change.exitCode).toBe(1);
	expect(change.stderr).toContain("read-only mode");
	const odd = String.raw`select '{"type":"x","a":"\ud83c"}' ->> '$.type'`;
	const malformed = await sql("--file", file, odd);
	expect(malformed.exitCode).toBe(1);
	expect(malformed.stderr).toContain(
		"NULL with TRY_CAST(body AS JSON) ->> '$.type'",
	);
	const wrong = await sql("--file", join(warehouse, "none.duckdb"), "from x");
	expect(wrong.exitCode).toBe(1);
	expect(wrong.stderr).toContain("does not exist");
	const lost = await startTidemill(["sql", "select 1"], {
		TIDEMILL_HOME: warehouse,
	}).ended;
	expect(lost.exitCode).toBe(2);
	expect(lost.stderr).toContain("There is no DuckDB file in");
});

test("a check leaves no table, nor one of a check that was killed", async () => {
	const fixture = await loadFixture();
	const tables = () => fixture.rows("SELECT table_name FROM duckdb_tables()");
	const days = await fixture.manifest({ [date]: [eventsOf(date, 2, "a")] });
	expect((await fixture.load(days)).exitCode).toBe(0);
	const before = await tables();
	await fixture.change('CREATE TABLE "_tidemill-check" (written INTEGER)');
	const { exitCode, log } = await check(fixture, "shop.duckdb");
	expect(exitCode, log).toBe(0);
	expect(await tables()).toEqual(before);
});

test.skipIf(!isRoot)(
	"a check of a disk that has room for a file and for no block of one says so, and passes once there is room",
	async () => {
		const { scratch } = await loadFixture();
		// DuckDB's blocks have 256 KiB.
		const { directory: warehouse, grow } = await memoryDisk("128k");
		expect(await check({ warehouse, scratch }, "shop.duckdb")).toMatchObject({
			exitCode: 75,
			result: { error: { code: "DestinationFull", retryable: true } },
		});
		await grow("2m");
		const { exitCode, log } = await check(
			{ warehouse, scratch },
			"shop.duckdb",
		);
		expect(exitCode, log).toBe(0);
	},
);
