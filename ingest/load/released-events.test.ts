import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parquetRows, quoteText } from "../../packages/duckdb/quoting.ts";
import { Session } from "../../packages/duckdb/session.ts";
import { TableChanged } from "../../packages/warehouses/load/warehouse.ts";
import { withoutHeld, withoutReleased } from "./released-events.ts";

let directory: string;
let session: Session;
beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "released-"));
	session = await Session.inMemory(
		{ preserve_insertion_order: "false" },
		new AbortController().signal,
	);
});
afterAll(async () => {
	session.close();
	await rm(directory, { recursive: true });
});

let files = 0;

/** A day with an object of these events each. */
async function dayOf(...objects: string[][]) {
	const made = [];
	for (const ids of objects) {
		const file = join(directory, `${files++}.parquet`);
		const rows = ids.map((id) => `(${quoteText(id)})`).join(", ");
		await session.run(
			`COPY (SELECT * FROM (VALUES ${rows}) AS t(event_id)) TO ${quoteText(file)} (FORMAT parquet)`,
		);
		made.push({ key: "", url: "", rows: ids.length, bytes: 1, file });
	}
	const rows = objects.flat().length;
	return { date: "2026-03-01", rows, objects: made };
}

test("events that were released are left out of the quarantine's day, and its objects have that many rows less", async () => {
	const apart = await dayOf(["a", "b"], ["c"], ["d"]);
	const { objects: released } = await dayOf(["x", "b"], ["c", "y"]);
	const left = await withoutReleased({ ...apart, released }, session);
	expect(left).toMatchObject({ rows: 2, objects: [{ rows: 1 }, { rows: 1 }] });
	const ids = await session.rows<{ event_id: string }>(
		`SELECT event_id FROM ${parquetRows(left.objects.map(({ file }) => file))} ORDER BY ALL`,
	);
	expect(ids.map(({ event_id }) => event_id)).toEqual(["a", "d"]);
});

test("a day of which nothing was released stays as it is", async () => {
	const apart = await dayOf(["a"]);
	const { objects: released } = await dayOf(["x"]);
	for (const day of [
		{ ...apart, released },
		apart,
		{ ...apart, rows: 0, objects: [], released },
	])
		expect(await withoutReleased(day, session)).toEqual(day);
});

test("the rows that stay in the table are left out, all of them or the table isn't what it says", async () => {
	const day = await dayOf(["a", "b"], ["c"], ["d"]);
	const { objects: without } = await dayOf(["b", "c"]);
	const left = await withoutHeld({ ...day, without }, "orders", session);
	// An object without rows stays: what it had is in the table.
	expect(left.map(({ rows }) => rows)).toEqual([1, 0, 1]);
	const ids = await session.rows<{ event_id: string }>(
		`SELECT event_id FROM ${parquetRows(left.map(({ file }) => file))} ORDER BY ALL`,
	);
	expect(ids.map(({ event_id }) => event_id)).toEqual(["a", "d"]);
	const { objects: foreign } = await dayOf(["x"]);
	await expect(
		withoutHeld({ ...day, without: foreign }, "orders", session),
	).rejects.toThrow(TableChanged);
});
