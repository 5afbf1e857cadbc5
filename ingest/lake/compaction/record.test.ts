import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Store } from "../../../packages/bucket/object-store.ts";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import { sameEvents, visibleObjects } from "../objects/replacements.ts";
import {
	type CompactionRecord,
	CompactionStore,
	hasOutlivedReaders,
	readRecord,
	supersededNames,
} from "./record.ts";

function recordOf(...outputs: [name: string, ...inputs: string[]][]) {
	const record: CompactionRecord = {
		version: 1,
		account: "shop",
		sourceKey: "5a",
		date: "2026-03-01",
		outputs: outputs.map(([name, ...inputs]) => ({
			name,
			rows: inputs.length,
			bytes: 1,
			sha256: "",
			inputs,
		})),
	};
	return record;
}

test.each<[string, string[], CompactionRecord | undefined, string[]]>([
	["without a record", ["1", "2"], undefined, ["1", "2"]],
	["all replaced by one", ["1", "2"], recordOf(["c", "1", "2"]), ["c"]],
	[
		"all replaced by two",
		["1", "2", "3", "4"],
		recordOf(["c", "1", "2"], ["d", "3", "4"]),
		["c", "d"],
	],
	[
		"one left as it was, since it is large",
		["1", "2", "3"],
		recordOf(["c", "1", "2"]),
		["c", "3"],
	],
	["nothing to gain", ["1"], recordOf(), ["1"]],
	[
		"one that arrived late",
		["1", "2", "late"],
		recordOf(["c", "1", "2"]),
		["c", "late"],
	],
])(
	"each event of a date is read once: %s",
	(_, originals, record, expected) => {
		const visible = visibleObjects(originals, (name) => name, record);
		expect([
			...visible.outputs.map(({ name }) => name),
			...visible.originals,
		]).toEqual(expected);
	},
);

test.each<
	[string, string[], CompactionRecord | undefined, string[] | undefined]
>([
	["nothing was compacted", ["1", "2"], undefined, ["1", "2"]],
	["all of them were", ["1", "2"], recordOf(["c", "1", "2"]), ["c"]],
	["with a later one", ["1"], recordOf(["c", "1", "2"]), undefined],
	[
		"some with a later one",
		["1", "2", "3"],
		recordOf(["c", "1", "2"], ["d", "3", "4"]),
		undefined,
	],
	["it names the output", ["c", "3"], recordOf(["c", "1", "2"]), ["c", "3"]],
])("a manifest keeps its events: %s", (_, named, record, expected) => {
	const same = sameEvents(named, (name) => name, record);
	expect(
		same && [...same.outputs.map(({ name }) => name), ...same.originals],
	).toEqual(expected);
});

test("superseded are the inputs of the record and the outputs that it doesn't name, and nothing else", () => {
	const record = recordOf(["compacted-1", "1", "2"]);
	const names = ["1", "2", "3", "compacted-1", "compacted-2", "note.txt"];
	expect(supersededNames(names, record)).toEqual(["1", "2", "compacted-2"]);
});

test("a record of an unknown version is refused", async () => {
	const record = recordOf(["c", "1", "2"]);
	expect(await readRecord("k", JSON.stringify(record))).toEqual(record);
	await expect(
		readRecord("k", JSON.stringify({ ...record, version: 2 })),
	).rejects.toThrow("record k has version 2; this archive knows version 1");
});

test("the record of the busiest date is written and read in many turns of the event loop", async () => {
	const inputs = Array.from({ length: 480 }, (_, n) =>
		`${n}`.padStart(63, "0"),
	);
	const outputs = Array.from({ length: 100 }, (_, n) => `compacted-${n}`);
	const record = recordOf(
		...outputs.map((name): [string, ...string[]] => [name, ...inputs]),
	);
	let turns = 0;
	let isDone = false;
	const counted = (async () => {
		for (; !isDone; turns++) await setImmediate();
	})();
	let text = "";
	const putNew = async (_: string, put: string) => {
		text = put;
		return "created";
	};
	const { keys } = new MemoryStore();
	const store = { keys, putNew } as unknown as Store;
	await new CompactionStore(store).decide(record);
	expect(JSON.parse(text)).toEqual(record);
	expect(turns).toBeGreaterThan(5);
	turns = 0;
	expect(await readRecord("k", text)).toEqual(record);
	expect(turns).toBeGreaterThan(5);
	isDone = true;
	await counted;
});

const hourMs = 3_600_000;

test.each<[string, number, number, boolean]>([
	["a day and an hour later", 25.1, 25.1, true],
	["not at the very hour", 25, 25, false],
	["while links of the day before may work", 24.9, 24.9, false],
	["when this process's clock alone has jumped", 1000, 3, false],
	["when the store's clock alone has jumped", 3, 1000, false],
	["when a clock has fallen back", -5, 30, false],
])(
	"superseded objects go a day later, not before: %s",
	(_, own, store, isSo) => {
		const clocks = { nowMs: own * hourMs, storeNowMs: store * hourMs };
		const recordedMs = 1_000 * hourMs;
		expect(
			hasOutlivedReaders(recordedMs, {
				nowMs: recordedMs + clocks.nowMs,
				storeNowMs: recordedMs + clocks.storeNowMs,
			}),
		).toBe(isSo);
	},
);
