import { expect, test } from "vitest";
import type { Erasure } from "../../../packages/contracts/archive.ts";
import { MemoryFileStore } from "../../../test/support/doubles/file-store.ts";
import { readArchivedRows } from "../../../test/support/examples/archived-rows.ts";
import { parquetObject } from "../../../test/support/examples/parquet-object.ts";
import { passingDirectory } from "../../../test/support/faults/passing-directory.ts";
import { SourceErasure } from "./source-erasure.ts";

const date = "2026-03-01";
const source = { account: "shop", sourceKey: "aa".repeat(16) };

/** What is left of two events, of which the first holds "Ada" in every place that an object has. */
async function erase(erasure: Erasure, isDryRun = false) {
	const store = new MemoryFileStore();
	const key = store.keys.events({ ...source, date }, "stream", 1);
	const event = (name: string, second: number) => ({
		event_id: name,
		timestampMs: Date.parse(`${date}T00:00:0${second}Z`),
		body: JSON.stringify({ name }),
		headers: { "x-name": name },
		violations: JSON.stringify({ message: name }),
	});
	await store.setFile(
		key,
		await parquetObject(date, [event("Ada", 0), event("Bob", 1)]),
	);
	const before = [...store.files];
	const counts = await SourceErasure.run(
		{
			store,
			scratch: await passingDirectory("erasure"),
			signal: new AbortController().signal,
			inTurn: (work) => work(),
			today: async () => date,
			isDryRun,
		},
		{ ...source, version: 1, operation: "op", erasure, date },
	);
	const rows = await readArchivedRows(store.files.get(key)!);
	return { counts, rows, key, before, after: [...store.files] };
}

const equalsAda = { bodyPointer: "/name", equals: "Ada" };

test.each<[string, Erasure, string]>([
	[
		"by a value, whose row goes",
		{ mode: "RemoveRow", match: equalsAda },
		"erased",
	],
	[
		"by a value, whose row stays",
		{ mode: "BlankBody", match: equalsAda },
		"json",
	],
	["by id", { mode: "RemoveRow", eventIDs: ["Ada"] }, "erased"],
])(
	"an event that is erased %s leaves its id and its time, and no value; others stay whole",
	async (_, erasure, kind) => {
		const { counts, rows } = await erase(erasure);
		expect(counts).toMatchObject({ Events: 1, Quarantine: 0 });
		expect(rows).toEqual([
			{
				event_id: "Ada",
				timestamp: `${date}T00:00:00.000Z`,
				date,
				body: "null",
				kind,
				headers: '{"tidemill-erased":"op"}',
				violations: null,
			},
			expect.objectContaining({
				event_id: "Bob",
				body: '{"name":"Bob"}',
				headers: '{"x-name":"Bob"}',
				violations: '{"message":"Bob"}',
			}),
		]);
	},
);

test("a dry run counts the same rows, and writes nothing", async () => {
	const erasure: Erasure = { mode: "RemoveRow", match: equalsAda };
	const { counts, before, after } = await erase(erasure, true);
	expect(counts).toMatchObject({ Events: 1, Quarantine: 0 });
	expect(after).toEqual(before);
});
