import { randomUUID } from "node:crypto";
import { copyFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { eventFile } from "../../../../ingest/archive/write/parquet/event-file.ts";
import { withDuckDB } from "../../../../test/support/duckdb.ts";
import { newEvent } from "../../../../test/support/fixtures/data-plane/archive-fixture.ts";
import { temporaryDirectory } from "../../../../test/support/servers/test-server.ts";
import type { DayObject } from "../../load/load-day.ts";
import { ObjectUploads } from "./day-uploads.ts";
import type { ParquetUpload } from "./joined-parquet.ts";

let scratch: string;
beforeAll(async () => {
	scratch = await temporaryDirectory("object-uploads");
});
afterAll(() => rm(scratch, { recursive: true }));

const bytes = 1_000;

async function object(rows = 2): Promise<DayObject> {
	const events = Array.from({ length: rows }, (_, index) =>
		newEvent(`{"index":${index}}`, { receivedAtMs: Date.UTC(2026, 2, 1) }),
	);
	const key = `${randomUUID()}.parquet`;
	const file = join(scratch, key);
	await writeFile(file, await eventFile(events));
	return { key, url: "", bytes, rows, file };
}

/** Uploads of two objects each. */
function uploadsOf(send: (upload: ParquetUpload) => Promise<void>) {
	const options = { maxBytes: 2 * bytes, atOnce: 1 };
	return new ObjectUploads(send, options);
}

test("objects are sent while others are on their way, and each is sent once", async () => {
	const sent: ParquetUpload[] = [];
	const uploads = uploadsOf(async (upload) => void sent.push(upload));
	const objects = [await object(), await object(), await object(3)];
	uploads.add(objects[2]!);
	uploads.add(objects[0]!);
	await setImmediate();
	expect(uploads.hasSentEarly).toBe(false);
	uploads.add(objects[1]!);
	await vi.waitFor(() => expect(sent.map(({ rows }) => rows)).toEqual([5]));
	expect(await uploads.finish(objects)).toBe(7);
	expect(sent.map(({ rows }) => rows)).toEqual([5, 2]);
	expect(sent.map(({ files }) => files.length)).toEqual([2, 1]);
	await uploads.end();
	expect(
		(await readdir(scratch)).filter((name) => name.endsWith("sent")),
	).toEqual([]);
});

test("a large day's first object is sent alone, as the server has nothing to do before it", async () => {
	const sent: number[] = [];
	const uploads = new ObjectUploads(
		async ({ files }) => void sent.push(files.length),
		{ maxBytes: 2 * bytes, firstBytes: bytes / 2, atOnce: 1 },
	);
	const objects = await Promise.all(Array.from({ length: 4 }, () => object()));
	uploads.add(objects[0]!);
	await vi.waitFor(() => expect(sent).toEqual([1]));
	for (const one of objects.slice(1)) uploads.add(one);
	await vi.waitFor(() => expect(sent).toEqual([1, 2]));
	expect(await uploads.finish(objects)).toBe(8);
	expect(sent).toEqual([1, 2, 1]);
	await uploads.end();
});

test.each<[string, (early: DayObject) => Promise<DayObject[]>]>([
	[
		"a check has put another file in an object's place",
		async (early) => {
			await copyFile(early.file, `${early.file}.made`);
			await rename(`${early.file}.made`, early.file);
			return [early];
		},
	],
	["an object has fewer rows now", async (early) => [{ ...early, rows: 1 }]],
	["an object doesn't belong to the day any more", async () => []],
	[
		"an object that came late must be written anew",
		async (early) => {
			const odd = await object();
			await withDuckDB((connection) =>
				connection.run(
					`COPY (SELECT * REPLACE (event_id::UUID AS event_id) FROM '${odd.file}') TO '${odd.file}.odd' (FORMAT parquet)`,
				),
			);
			return [early, { ...odd, file: `${odd.file}.odd` }];
		},
	],
])("what was sent doesn't count if %s", async (_, checked) => {
	const uploads = uploadsOf(async () => undefined);
	const objects = [await object(), await object(), await object()];
	for (const one of objects) uploads.add(one);
	const [early, ...others] = objects;
	const found = [...(await checked(early!)), ...others];
	expect(await uploads.finish(found)).toBeUndefined();
	expect(uploads.hasSentEarly).toBe(true);
	await uploads.end();
});

test("a failure is thrown once the objects are checked", async () => {
	let count = 0;
	const uploads = uploadsOf(async () => {
		count++;
		throw new Error("refused");
	});
	const objects = [await object(), await object(), await object()];
	for (const one of objects) uploads.add(one);
	await vi.waitFor(() => expect(count).toBe(1));
	await expect(uploads.finish(objects)).rejects.toThrow("refused");
	await uploads.end();
});

test("the end waits for what is being sent, and nothing is sent after it", async () => {
	const sent: ParquetUpload[] = [];
	const { promise, resolve } = Promise.withResolvers<void>();
	const uploads = uploadsOf((upload) => {
		sent.push(upload);
		return promise;
	});
	for (let count = 0; count < 5; count++) uploads.add(await object());
	await vi.waitFor(() => expect(sent).toHaveLength(1));
	let isOver = false;
	const ended = uploads.end().then(() => {
		isOver = true;
	});
	await setImmediate();
	expect(isOver).toBe(false);
	resolve();
	await ended;
	expect(sent).toHaveLength(1);
});
