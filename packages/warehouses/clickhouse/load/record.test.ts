import { expect, test } from "vitest";
import { heldDate, type RecordEntry } from "./record.ts";

const entry = (
	before: string,
	after: string,
	objects: string[],
	{ adds = false, isDone = true } = {},
): RecordEntry => ({
	date: "2026-03-01",
	before,
	after,
	adds,
	isDone,
	objects,
	rows: objects.length,
	unfit: {},
	run: "run",
});

const first = entry("0", "A", ["a"]);
const added = entry("A", "B", ["b"], { adds: true });
const interrupted = { ...added, isDone: false };

test.each<
	[
		string,
		rows: number,
		digest: string,
		RecordEntry[],
		objects: string[] | "changed" | "forgotten",
	]
>([
	["nothing recorded, and empty", 0, "0", [], []],
	["nothing recorded, with rows", 1, "X", [], "changed"],
	["as it was loaded", 1, "A", [first], ["a"]],
	["with an addition", 2, "B", [first, added], ["a", "b"]],
	[
		"whose addition was killed before it took place",
		1,
		"A",
		[first, interrupted],
		["a"],
	],
	[
		"whose addition was killed after it had",
		2,
		"B",
		[first, interrupted],
		["a", "b"],
	],
	["from which somebody took the addition", 1, "A", [first, added], "changed"],
	["which somebody emptied", 0, "0", [first], "changed"],
	[
		"whose first load was killed before it took place",
		0,
		"0",
		[{ ...first, isDone: false }],
		[],
	],
	["which was replaced", 1, "C", [first, added, entry("B", "C", ["c"])], ["c"]],
	[
		"whose replacement was killed",
		2,
		"B",
		[first, added, entry("B", "C", ["c"], { isDone: false })],
		["a", "b"],
	],
	["with rows that nobody knows", 3, "X", [first, added], "changed"],
	["whose first entry is missing", 2, "B", [added], "changed"],
	["that was emptied by a load", 0, "0", [first, entry("A", "0", [])], []],
])("a date %s", (_, rows, digest, entries, objects) => {
	const held = heldDate({ rows, digest }, entries, false)!;
	if (objects === "changed") {
		expect(held.loadedDigest).not.toBe(held.digest);
		return;
	}
	expect(held).toMatchObject({ rows, digest, loadedDigest: digest });
	expect(held.loads.flatMap((load) => load.objects)).toEqual(objects);
});

test("an old date whose entries may be forgotten isn't known", () => {
	expect(heldDate({ rows: 1, digest: "A" }, [], true)).toBeUndefined();
});
