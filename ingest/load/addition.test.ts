import { expect, test } from "vitest";
import type { LoadInput } from "../../packages/contracts/job.ts";
import type { HeldDate } from "../../packages/warehouses/load/load-day.ts";
import { earlyName, outputName } from "../wire/object-name.ts";
import { additionTo } from "./addition.ts";
import { early as earlyStep } from "./steps/early.ts";
import type { DateStep } from "./steps/step.ts";

const table = { name: "orders", columns: [], description: "" };
const folder = "events/account=shop/source=s/date=2026-03-01/";

function object(name: string, rows: number, inputs?: number) {
	const key = folder + name;
	return { key, url: "", rows, bytes: 1, ...(inputs && { inputs }) };
}

/** A table that holds the rows of these loads. */
function holding(...loads: [objects: string[], rows: number][]): HeldDate {
	return {
		rows: loads.reduce((sum, [, rows]) => sum + rows, 0),
		digest: "7",
		loadedDigest: "7",
		loads: loads.map(([objects, rows]) => ({
			objects,
			rows,
			unfit: { total: { rows: 1, values: 3, eventID: objects[0]! } },
			run: "before",
		})),
	};
}

/** The names to insert, and how many rows stay; undefined if the date is replaced. */
function added(...given: Parameters<typeof additionTo>) {
	const addition = additionTo(...given);
	return (
		addition && {
			names: addition.objects.map(({ key }) => key.slice(folder.length)),
			rows: addition.kept.rows,
			renamed: addition.kept.renamed,
		}
	);
}

const [a, b, c] = [object("s-1", 1), object("s-2", 2), object("s-3", 4)];
const compacted = (names: string[], rows: number) =>
	object(outputName(names), rows, names.length);

test("only the objects that no load has recorded are inserted", () => {
	const held = holding([["s-1"], 1], [["s-2"], 2]);
	const wanted = { objects: [a, b, c], rows: 7 };
	expect(added(wanted, held)).toEqual({ names: ["s-3"], rows: 3 });
	expect(additionTo(wanted, held)?.kept).toMatchObject({
		unfit: { total: { rows: 2, values: 6, eventID: "s-2" } },
		held,
	});
});

test("a date that hasn't changed gets nothing, even an empty one", () => {
	expect(added({ objects: [a], rows: 1 }, holding([["s-1"], 1]))).toEqual({
		names: [],
		rows: 1,
	});
	expect(added({ objects: [], rows: 0 }, holding())).toEqual({
		names: [],
		rows: 0,
	});
});

test.each<[string, Parameters<typeof additionTo>]>([
	[
		"a row was deleted by hand",
		[
			{ objects: [a, b], rows: 3 },
			{ ...holding([["s-1"], 1]), rows: 0 },
		],
	],
	[
		"a row was inserted by hand",
		[
			{ objects: [a], rows: 1 },
			{ ...holding([["s-1"], 1]), rows: 2 },
		],
	],
	[
		"a row was changed by hand, or exchanged for another",
		[
			{ objects: [a], rows: 1 },
			{ ...holding([["s-1"], 1]), digest: "8" },
		],
	],
	[
		"no load has recorded its rows",
		[
			{ objects: [a], rows: 1 },
			{ ...holding(), rows: 1 },
		],
	],
	[
		"a recorded object counts no more",
		[{ objects: [b], rows: 2 }, holding([["s-1"], 1])],
	],
	[
		"a recorded object counts no more, where the ledger can't say how many rows there are",
		[{ objects: [b] }, holding([["s-1"], 1])],
	],
	[
		"the ledger says another number",
		[{ objects: [a, b], rows: 4 }, holding([["s-1"], 1])],
	],
	[
		"events were released from quarantine since",
		[
			{ objects: [a], steps: [{ deciding: ["000001-x"] }] },
			holding([["s-1"], 1]),
		],
	],
])("a date is replaced if %s", (_, given) => {
	expect(additionTo(...given)).toBeUndefined();
});

test("a compaction gives the same rows new names", () => {
	const held = holding([["s-2", "s-1"], 3], [["s-3"], 4]);
	const [first, second] = [
		compacted(["s-1", "s-2"], 3),
		compacted(["s-3", "s-4"], 12),
	];
	expect(added({ objects: [first, c], rows: 7 }, held)).toEqual({
		names: [],
		rows: 7,
		renamed: [outputName(["s-1", "s-2"]), "s-3"],
	});
	const new2 = compacted(["s-5", "s-6"], 5);
	expect(added({ objects: [first, new2, c], rows: 12 }, held)).toEqual({
		names: [outputName(["s-5", "s-6"])],
		rows: 7,
		renamed: [outputName(["s-1", "s-2"]), "s-3"],
	});
	// It merged what the table holds with what it doesn't.
	expect(
		additionTo({ objects: [first, second], rows: 15 }, held),
	).toBeUndefined();
});

test("an object that only looks like a compaction's replaces nothing", () => {
	const other = object(outputName(["s-1", "s-9"]), 3, 2);
	const held = holding([["s-1", "s-2"], 3]);
	expect(additionTo({ objects: [other], rows: 3 }, held)).toBeUndefined();
	expect(
		additionTo(
			{ objects: [object(outputName(["s-1", "s-2"]), 3)], rows: 3 },
			held,
		),
	).toBeUndefined();
});

test("in quarantine, events that were released before are no reason to replace the date", () => {
	const held = holding([["000001-x", "s-1"], 1]);
	const steps = [{ deciding: ["000001-x"] }];
	const wanted = { objects: [a, b], steps };
	expect(added(wanted, held)).toEqual({ names: ["s-2"], rows: 1 });
	expect(added({ objects: [], steps }, holding())).toEqual({
		names: [],
		rows: 0,
	});
});

const cut = (first: number, rows: number) =>
	object(`s-${String(first).padStart(20, "0")}.parquet`, rows);
const early = (first: number, last: number, rows: number) =>
	object(earlyName({ stream: "s", first, last, rows }), rows);
/** The steps of a date of a manifest that knows these early objects. */
function knowing(...earlier: ReturnType<typeof early>[]): DateStep[] {
	const date = { date: "2026-03-01", rows: 0, objects: [], earlier };
	const input = { table } as unknown as LoadInput;
	return [earlyStep({ date, isBeside: false, input })!];
}
const nameOf = ({ key }: { key: string }) => key.slice(folder.length);

test("rows that were loaded early stay, and the cut that has them gives the others", () => {
	const before = early(8, 9, 2);
	const held = holding([[nameOf(cut(1, 5))], 5], [[nameOf(before)], 2]);
	const objects = [cut(1, 5), cut(8, 3)];
	const given = additionTo({ objects, rows: 8, steps: knowing(before) }, held);
	expect(given?.objects).toEqual([cut(8, 3)]);
	expect(given?.without).toEqual([before]);
	// What the rows of the table come from is told by the cut from now on.
	expect(given?.kept).toMatchObject({
		rows: 7,
		renamed: [nameOf(cut(1, 5)), nameOf(cut(8, 3))],
	});
});

test("a cut with exactly the rows that were loaded early only renames them; two cuts can have them, and more early events", () => {
	const before = early(8, 9, 2);
	const held = holding([[nameOf(before)], 2]);
	const steps = knowing(before);
	const wanted = { objects: [cut(8, 2)], rows: 2, steps };
	expect(additionTo(wanted, held)).toMatchObject({ objects: [] });
	expect(additionTo(wanted, held)).not.toHaveProperty("without");
	const objects = [cut(8, 1), early(9, 12, 4)];
	const two = additionTo({ objects, rows: 5, steps }, held);
	expect(two).toMatchObject({ objects, without: [before] });
});

test.each<[string, Parameters<typeof additionTo>[0]]>([
	["no manifest knows the early object", { objects: [cut(8, 3)], rows: 3 }],
	[
		"no cut has its events, as after compaction",
		{
			objects: [compacted([nameOf(cut(8, 3))], 3)],
			rows: 3,
			steps: knowing(early(8, 9, 2)),
		},
	],
	[
		"the cut has fewer rows",
		{ objects: [cut(8, 1)], rows: 1, steps: knowing(early(8, 9, 2)) },
	],
	[
		"the rows don't add up to the ledger's",
		{ objects: [cut(8, 3)], rows: 4, steps: knowing(early(8, 9, 2)) },
	],
])("a date with early rows is replaced if %s", (_, wanted) => {
	const held = holding([[nameOf(early(8, 9, 2))], 2]);
	expect(additionTo(wanted, held)).toBeUndefined();
});
