import { mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, onTestFinished, test } from "vitest";
import { Session } from "../../../packages/duckdb/session.ts";
import {
	type ObjectEvent,
	parquetObject,
} from "../../../test/support/examples/parquet-object.ts";
import { passingDirectory } from "../../../test/support/faults/passing-directory.ts";
import { databaseSettings, ParquetRewriter } from "./parquet-rewriter.ts";

const date = "2026-03-01";

function event(second: number, body = `${second}`): ObjectEvent {
	const timestampMs = Date.parse(`${date}T00:00:00Z`) + second * 1000;
	return { event_id: `id-${second}`, timestampMs, body };
}

async function open(scratch?: string) {
	const rewriter = await ParquetRewriter.open(
		scratch ?? (await passingDirectory("rewriter")),
		new AbortController().signal,
	);
	onTestFinished(() => rewriter.close());
	return rewriter;
}

async function fileOf(rewriter: ParquetRewriter, ...events: ObjectEvent[]) {
	const file = rewriter.newFile();
	await writeFile(file, await parquetObject(date, events));
	return file;
}

test("merged files have the same contents, sorted by timestamp", async () => {
	const rewriter = await open();
	const files = [
		await fileOf(rewriter, event(1), event(4)),
		await fileOf(rewriter, event(2, "2, and more"), event(3)),
	];
	const merged = await rewriter.merge(files, 2048);
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	const reader = await connection.runAndReadAll(
		`SELECT body FROM read_parquet('${merged}', file_row_number = true) ORDER BY file_row_number`,
	);
	expect(reader.getRows().flat()).toEqual(["1", "2, and more", "3", "4"]);
	connection.closeSync();
	instance.closeSync();
	const [a, b, both] = await rewriter.contents([...files, merged]);
	expect([[a], [b], [both]]).toEqual([
		await rewriter.contents([files[0]!]),
		await rewriter.contents([files[1]!]),
		await rewriter.contents([merged]),
	]);
	expect(both).toEqual({
		rows: 4,
		ids: 4,
		bytes: a!.bytes + b!.bytes,
		hashes: a!.hashes + b!.hashes,
		fromMs: event(1).timestampMs,
		toMs: event(4).timestampMs,
	});
});

test.each<[string, ObjectEvent[]]>([
	["another body", [event(1), event(2, "x")]],
	["another time", [event(1), { ...event(2), timestampMs: 0 }]],
	["another id", [event(1), { ...event(2), event_id: "x" }]],
	["other headers", [event(1), { ...event(2), headers: { a: "b" } }]],
	["one twice", [event(1), event(1)]],
])("contents tell files apart that differ in %s", async (_, events) => {
	const rewriter = await open();
	const one = await fileOf(rewriter, event(1), event(2));
	const other = await fileOf(rewriter, ...events);
	const [first, second] = await rewriter.contents([one, other]);
	expect(second).not.toEqual(first);
});

test("nothing of a file that was read stays in memory", async () => {
	const file = await fileOf(await open(), event(1, "x".repeat(100_000)));
	const { signal } = new AbortController();
	const session = await Session.inMemory(databaseSettings, signal);
	onTestFinished(() => session.close());
	await session.run(`SELECT sum(strlen(body)) FROM read_parquet('${file}')`);
	expect(
		await session.rows(
			"SELECT tag FROM duckdb_memory() WHERE tag = 'EXTERNAL_FILE_CACHE' AND memory_usage_bytes > 0",
		),
	).toEqual([]);
});

test("the files of a killed process are removed, and a live process keeps its files", async () => {
	const scratch = await passingDirectory("scratch");
	for (const name of ["parquet-dead", "parquet-alive", "other"])
		await mkdir(join(scratch, name));
	const longAgo = Date.now() / 1000 - 2 * 3600;
	for (const name of ["parquet-dead", "other"])
		await utimes(join(scratch, name), longAgo, longAgo);
	await (await open(scratch)).close();
	expect((await readdir(scratch)).sort()).toEqual(["other", "parquet-alive"]);
});

test("one that closes doesn't disturb another that opens", async () => {
	const scratch = await passingDirectory("scratch");
	const { signal } = new AbortController();
	const openAndClose = async () => {
		for (let time = 0; time < 10; time++)
			await (await ParquetRewriter.open(scratch, signal)).close();
	};
	await Promise.all(Array.from({ length: 4 }, openAndClose));
	expect(await readdir(scratch)).toEqual([]);
});
