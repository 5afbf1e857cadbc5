import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventFile } from "../../../../ingest/archive/write/parquet/event-file.ts";
import { withDuckDB } from "../../../../test/support/duckdb.ts";
import { newEvent } from "../../../../test/support/fixtures/data-plane/archive-fixture.ts";
import { temporaryDirectory } from "../../../../test/support/servers/test-server.ts";
import { parquetRows, quoteText } from "../../../duckdb/quoting.ts";
import { joinedParquet, parquetUploads } from "./joined-parquet.ts";

let scratch: string;
beforeAll(async () => {
	scratch = await temporaryDirectory("joined-parquet");
});
afterAll(() => rm(scratch, { recursive: true }));

const startMs = Date.UTC(2026, 2, 1);

/** As archive writes it. */
async function archived(count: number, bytes = 9): Promise<{ file: string }> {
	const events = Array.from({ length: count }, (_, index) =>
		newEvent(`{"index":${index},"text":"ü${"x".repeat(bytes)}"}`, {
			id: Buffer.from(randomUUID().replaceAll("-", ""), "hex"),
			receivedAtMs: startMs + index,
			...(index % 3 === 1 && { violations: `[${index}]` }),
		}),
	);
	const file = join(scratch, `${randomUUID()}.parquet`);
	await writeFile(file, await eventFile(events));
	return { file };
}

/** As DuckDB rewrites it. */
async function rewritten(
	objects: { file: string }[],
	{ replaced = "", where = "true" } = {},
): Promise<{ file: string }> {
	const file = join(scratch, `${randomUUID()}.parquet`);
	const from = parquetRows(objects.map(({ file }) => file));
	await withDuckDB((connection) =>
		connection.run(
			`COPY (SELECT * ${replaced} FROM ${from} WHERE ${where}) TO ${quoteText(file)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 2048)`,
		),
	);
	return { file };
}

async function rowsOf(files: string[]): Promise<unknown[]> {
	return withDuckDB(async (connection) => {
		const found = await connection.run(
			`SELECT event_id, timestamp, date, body FROM ${parquetRows(files)} ORDER BY event_id`,
		);
		return found.getRowsJson();
	});
}

const mib = 1024 ** 2;

test("files of both writers become one, with each row of all and more than fifteen row groups", async () => {
	// Of more than a row group takes.
	const own = [await archived(4, 2 * mib)];
	for (let count = 1; count < 16; count++) own.push(await archived(count));
	const others = await Promise.all(own.map((one) => rewritten([one])));
	for (const objects of [
		own,
		others,
		[...own.slice(8), ...others.slice(0, 8)],
	]) {
		const files = objects.map(({ file }) => file);
		const uploads = await parquetUploads(objects, 64 * mib);
		const expected = await rowsOf(files);
		expect(uploads).toEqual([{ files, rows: expected.length }]);
		const joined = join(scratch, `${randomUUID()}.parquet`);
		await writeFile(joined, joinedParquet(uploads![0]!));
		expect(await rowsOf([joined])).toEqual(expected);
	}
});

test("an upload has no more bytes than it may, and none without rows", async () => {
	const [one, two, three] = [
		await archived(50),
		await archived(50),
		await archived(50),
	];
	const other = await rewritten([one]);
	const empty = await rewritten([one], { where: "false" });
	expect(
		await parquetUploads([one, other, empty, two, three], 64 * mib),
	).toEqual([
		{ files: [one.file, other.file, two.file, three.file], rows: 200 },
	]);
	const uploads = await parquetUploads([one, two, three], 1);
	expect(uploads!.map(({ files }) => files)).toEqual([
		[one.file],
		[two.file],
		[three.file],
	]);
	const [first] = uploads!;
	expect((await buffer(joinedParquet(first!))).length).toBeGreaterThan(1);
	expect(await parquetUploads([empty], 64 * mib)).toEqual([]);
});

test.each([
	["without a column", "EXCLUDE (timestamp)"],
	["with an id of another type", "REPLACE (event_id::UUID AS event_id)"],
	["with another unit", "REPLACE (timestamp::TIMESTAMP_NS AS timestamp)"],
	["with texts for dates", "REPLACE (date::VARCHAR AS date)"],
])("a file %s isn't sent as it is", async (_, replaced) => {
	const object = await archived(2);
	const odd = await rewritten([object], { replaced });
	expect(await parquetUploads([object, odd], 64 * mib)).toBeUndefined();
});
