import { expect, onTestFinished, test } from "vitest";
import { MemoryFileStore } from "../../../test/support/doubles/file-store.ts";
import { readArchivedRows } from "../../../test/support/examples/archived-rows.ts";
import { parquetObject } from "../../../test/support/examples/parquet-object.ts";
import { passingDirectory } from "../../../test/support/faults/passing-directory.ts";
import { outputName } from "../../wire/object-name.ts";
import { ParquetRewriter } from "../objects/parquet-rewriter.ts";
import { CompactionMismatch, DateCompaction } from "./date-compaction.ts";

const date = "2026-03-01";
const folder = { account: "shop", sourceKey: "aa".repeat(16), date };

function events(name: string, rows: number) {
	return Array.from({ length: rows }, (_, row) => ({
		event_id: `${name}-${row}`,
		timestampMs: Date.parse(`${date}T00:00:00Z`) + row,
		body: JSON.stringify({ name, row }),
	}));
}

/** A date with two objects of two rows and of three. */
async function dateWithObjects() {
	const store = new MemoryFileStore();
	const rewriter = await ParquetRewriter.open(
		await passingDirectory("compaction"),
		new AbortController().signal,
	);
	onTestFinished(() => rewriter.close());
	const objects = [2, 3].map((rows, at) => ({
		stream: "frames-0",
		first: at + 1,
		rows,
	}));
	const keys = objects.map(({ stream, first }) =>
		store.keys.events(folder, stream, first),
	);
	for (const [at, { rows }] of objects.entries())
		await store.setFile(
			keys[at]!,
			await parquetObject(date, events(`${at}`, rows)),
		);
	const names = keys.map((key) => key.slice(key.lastIndexOf("/") + 1));
	const output = store.keys.eventsOfDate(folder) + outputName(names);
	const compaction = () =>
		new DateCompaction(
			{ store, rewriter, idle: async () => undefined },
			{ ...folder, objects },
		).run();
	return { store, keys, names, output, objects, compaction };
}

test("a date's objects become one with the same events, and stay until the record that replaces them stands", async () => {
	const { store, keys, names, output, compaction } = await dateWithObjects();
	const record = await compaction();
	expect(record.outputs).toMatchObject([{ rows: 5, inputs: names }]);
	const rows = await readArchivedRows(store.files.get(output)!);
	expect(rows.map(({ event_id }) => event_id).sort()).toEqual([
		...["0-0", "0-1"],
		...["1-0", "1-1", "1-2"],
	]);
	expect([...store.files.keys()].sort()).toEqual([...keys, output].sort());
	expect(await compaction()).toEqual(record);
});

test.each([
	["fewer events", events("1", 3)],
	["other events", events("2", 5)],
	["an event twice", [...events("0", 2), ...events("1", 2), ...events("1", 1)]],
])("an object with %s takes the place of none", async (_, found) => {
	const { store, output, compaction } = await dateWithObjects();
	await store.setFile(output, await parquetObject(date, found));
	await expect(compaction()).rejects.toThrow(CompactionMismatch);
});

test("an object that is gone, or that holds another number of events than was counted, is replaced by none", async () => {
	const { store, keys, objects, compaction } = await dateWithObjects();
	objects[0]!.rows = 1;
	await expect(compaction()).rejects.toThrow("holds 2 rows");
	store.files.delete(keys[0]!);
	await expect(compaction()).rejects.toThrow("is not in the bucket");
});
