import { describe, expect, test } from "vitest";
import type { EventFilter, LoadInput } from "../../packages/contracts/job.ts";
import type { ManifestDate } from "../../packages/contracts/manifest.ts";
import type { HeldDate } from "../../packages/warehouses/load/load-day.ts";
import { earlyName, outputName } from "../wire/object-name.ts";
import {
	dayWouldShrink,
	isLossAccepted,
	lossWords,
	shrinkageOf,
} from "./shrinking-days.ts";
import { stepsOf } from "./wanted-tables.ts";

const date = "2026-03-01";
const folder = `events/account=shop/source=s/date=${date}/`;

function object(name: string, rows: number, inputs?: number) {
	const key = folder + name;
	return { key, url: "", rows, bytes: 1, ...(inputs && { inputs }) };
}
const nameOf = ({ key }: { key: string }) => key.slice(folder.length);
const cut = (first: number, rows: number) =>
	object(`s-${String(first).padStart(20, "0")}.parquet`, rows);
const early = (first: number, last: number, rows: number) =>
	object(earlyName({ stream: "s", first, last, rows }), rows);
const compacted = (...of: { key: string; rows: number }[]) =>
	object(
		outputName(of.map(nameOf)),
		of.reduce((sum, { rows }) => sum + rows, 0),
		of.length,
	);

/** A table whose record says that it has all rows of each of these objects, a load for each. */
function holding(...objects: { key: string; rows: number }[]): HeldDate {
	return {
		rows: objects.reduce((sum, { rows }) => sum + rows, 0),
		digest: "7",
		loadedDigest: "7",
		loads: objects.map((one) => ({
			objects: [nameOf(one)],
			rows: one.rows,
			unfit: {},
			run: "before",
		})),
	};
}

/** As a manifest has the date. */
function wanted(
	objects: ReturnType<typeof object>[],
	more: Partial<ManifestDate> = {},
	input: Partial<LoadInput> = {},
) {
	const rows = objects.reduce((sum, { rows }) => sum + rows, 0);
	const day: ManifestDate = { date, rows, objects, ...more };
	const words = {
		date: day,
		isBeside: false,
		input: { table: { name: "orders" }, ...input } as LoadInput,
		manifest: { erasures: more.erased && { asked: 1, others: [] } } as never,
	};
	return { objects, rows, steps: stepsOf(words) };
}

const [a, b, c] = [cut(1, 5), cut(10, 6), cut(20, 7)];

describe("a day would shrink", () => {
	test("if an object is gone of which the table has rows, however many have come since", () => {
		const many = cut(30, 1_000);
		const found = shrinkageOf(wanted([a, many]), { held: [holding(a, b, c)] });
		expect(found).toMatchObject({
			rows: 18,
			left: 1_005,
			gone: [nameOf(b), nameOf(c)],
			addition: { objects: [many], kept: { rows: 18 } },
		});
		expect(found?.addition?.kept).not.toHaveProperty("renamed");
	});

	test("if all are gone, or the ledger knows nothing of the date", () => {
		expect(shrinkageOf(wanted([]), { held: [holding(a)] })).toMatchObject({
			left: 0,
			addition: { objects: [] },
		});
	});

	test("if an early object is gone, and no cut has its events", () => {
		const before = early(10, 12, 3);
		const found = shrinkageOf(wanted([a, cut(13, 4)]), {
			held: [holding(a, before)],
		});
		expect(found).toMatchObject({ gone: [nameOf(before)] });
		const fewer = shrinkageOf(wanted([a, cut(10, 2)]), {
			held: [holding(a, before)],
		});
		expect(fewer?.gone).toEqual([nameOf(before)]);
		// The cut may have rows that the table has.
		expect(fewer).not.toHaveProperty("addition");
	});

	test("if the bucket is of before a compaction, and nothing is added, since nobody knows what is new", () => {
		const found = shrinkageOf(wanted([a]), {
			held: [holding(compacted(a, b))],
		});
		expect(found).toMatchObject({ rows: 11, left: 5 });
		expect(found).not.toHaveProperty("addition");
	});

	test("if one of several tables that stand for it has rows of an object that is gone", () => {
		const held = [holding(a), holding(b)];
		const found = shrinkageOf(wanted([a, c]), { held });
		expect(found).toMatchObject({ gone: [nameOf(b)] });
		expect(found).not.toHaveProperty("addition");
	});

	test("also by a record of rows that were filled otherwise, and nothing is added to them", () => {
		const held = [{ ...holding(a, b), isFilledOtherwise: true as const }];
		const found = shrinkageOf(wanted([a, cut(30, 99)]), { held });
		expect(found).toMatchObject({ rows: 11, gone: [nameOf(b)] });
		expect(found).not.toHaveProperty("addition");
	});

	test("if there is no record, and the table has more rows than all objects", () => {
		const found = shrinkageOf(wanted([a]), { held: [], rows: 6 });
		expect(found).toEqual({ rows: 6, left: 5, gone: [] });
	});

	test("if the record began after the date was loaded, and the table has more rows than all objects", () => {
		const unrecorded = { ...holding(), rows: 6 };
		const found = shrinkageOf(wanted([a]), { held: [unrecorded] });
		expect(found).toEqual({ rows: 6, left: 5, gone: [] });
		const same = { ...unrecorded, rows: 5 };
		expect(shrinkageOf(wanted([a]), { held: [same] })).toBeUndefined();
	});

	test("beside a compaction of what is there, and only what is new is added", () => {
		const found = shrinkageOf(wanted([compacted(b, c), cut(30, 1)]), {
			held: [holding(a, b, c)],
		});
		expect(found).toMatchObject({
			gone: [nameOf(a)],
			addition: { objects: [cut(30, 1)] },
		});
	});
});

describe("a day loses nothing", () => {
	const filter: EventFilter = { match: { bodyPointer: "/a", equals: "b" } };
	test.each<[string, Parameters<typeof shrinkageOf>]>([
		["to new objects", [wanted([a, b]), { held: [holding(a)] }]],
		["to a compaction", [wanted([compacted(a, b)]), { held: [holding(a, b)] }]],
		[
			"to a compaction with later objects, by the number of rows",
			[wanted([compacted(a, b)]), { held: [holding(a)] }],
		],
		[
			"to a bucket of before a compaction that has all objects",
			[wanted([a, b]), { held: [holding(compacted(a, b))] }],
		],
		[
			"to the cut of early events, also without a manifest that names them",
			[wanted([a, cut(10, 3)]), { held: [holding(a, early(10, 12, 3))] }],
		],
		[
			"to the cut of early events, after a compaction",
			[
				wanted([compacted(a, cut(10, 3))]),
				{ held: [holding(a, early(10, 12, 3))] },
			],
		],
		[
			"to later early events",
			[wanted([early(10, 15, 4)]), { held: [holding(early(10, 12, 3))] }],
		],
		[
			"to an Erase, whose rows are in the objects",
			[
				wanted([a], { erased: { by: ["operation"], rows: 5 } }),
				{ held: [holding(a)] },
			],
		],
		[
			"to an Erase that a record no longer finds",
			[
				wanted([a]),
				{
					held: [
						{
							...holding(a),
							loads: [
								{
									objects: ["operation", nameOf(a)],
									rows: 5,
									unfit: {},
									run: "",
								},
							],
						},
					],
				},
			],
		],
		[
			"to another filter, which has another record",
			[wanted([a, b], {}, { filter }), { held: [], rows: 11 }],
		],
		[
			"to its own filter",
			[
				wanted([a, b], {}, { filter }),
				{ held: [{ ...holding(a, b), rows: 1 }] },
			],
		],
		[
			"to the table's own expiration, or to pg_partman",
			[wanted([]), { held: [{ ...holding(a), rows: 0 }] }],
		],
		["to the same without a record", [wanted([a]), { held: [], rows: 0 }]],
		[
			"to people who delete or change rows",
			[wanted([a]), { held: [{ ...holding(a), rows: 2, digest: "8" }] }],
		],
		[
			"to people who insert rows, where there is a record",
			[wanted([a]), { held: [{ ...holding(a), rows: 50 }] }],
		],
		[
			"to an object of which the table has no row",
			[wanted([a]), { held: [{ ...holding(a, { ...b, rows: 0 }), rows: 5 }] }],
		],
	])("%s", (_, given) => {
		expect(shrinkageOf(...given)).toBeUndefined();
	});
});

test("the failure says which dates, rows and objects, and what was done", () => {
	const days = Array.from({ length: 7 }, (_, index) => ({
		table: "orders",
		date: `2026-03-0${index + 1}`,
		rows: 1_136,
		left: 10,
		gone: index === 0 ? ["x.parquet", "y.parquet"] : [],
	}));
	const { code, message, retryable } = dayWouldShrink(days, false);
	expect({ code, retryable }).toEqual({
		code: "DayWouldShrink",
		retryable: false,
	});
	expect(message).toContain(
		"2026-03-01 (1136 rows in table orders, 10 in the bucket's objects, without x.parquet and 1 more of the table's), 2026-03-02 (1136 rows in table orders, 10 in the bucket's objects), ",
	);
	expect(message).toContain(
		"and 2 more. These dates keep their rows, and all others are loaded.",
	);
	expect(message).toContain("spec.acceptLoss");
	expect(dayWouldShrink(days, true).message).toContain("Nothing was loaded.");
	for (const [found, words] of [
		[{ example: "0199-id" }, "event 0199-id"],
		[{}, "a row whose id isn't one of Tidemill's"],
	] as const) {
		const lost = [{ ...days[1]!, lost: 3, ...found }];
		expect(dayWouldShrink(lost, undefined).message).toContain(
			`which lack 3 of the table's, such as ${words})`,
		);
	}
});

test("events that were imported again are added to no date that stays: they may be those of the object that is gone", () => {
	const held = [holding(a!, b!)];
	const imported = { ...c!, released: true as const };
	expect(shrinkageOf(wanted([a!, c!]), { held })).toHaveProperty("addition");
	const found = shrinkageOf(wanted([a!, imported]), { held });
	expect(found).toMatchObject({ gone: [nameOf(b!)] });
	expect(found).not.toHaveProperty("addition");
});

describe("a person's word for the bucket's loss", () => {
	const shrinking = shrinkageOf(wanted([a]), { held: [holding(a, b)] })!;
	const lostOf = (...names: string[]) => ({ rows: 6, objects: 1, names });

	test("lets rows stay of all objects that it names, and of none beside them", () => {
		expect(isLossAccepted(shrinking, lostOf(nameOf(b)))).toBe(true);
		expect(isLossAccepted(shrinking, lostOf(nameOf(c)))).toBe(false);
		expect(isLossAccepted(shrinking, undefined)).toBe(false);
		const both = shrinkageOf(wanted([a]), { held: [holding(a, b, c)] })!;
		expect(isLossAccepted(both, lostOf(nameOf(b)))).toBe(false);
	});

	test("is no word where nobody knows what is new", () => {
		const { addition: _, ...hidden } = shrinking;
		expect(isLossAccepted(hidden, lostOf(nameOf(b)))).toBe(false);
		const byCount = shrinkageOf(wanted([a]), { held: [], rows: 11 })!;
		expect(isLossAccepted(byCount, lostOf(nameOf(b)))).toBe(false);
	});

	test("is a sentence in each Run whose dates lack the events", () => {
		expect(lossWords([{ date }], [])).toBeUndefined();
		const lost = lostOf();
		const days = Array.from({ length: 7 }, (_, day) => ({
			...{ date: `2026-03-0${day + 1}`, lost },
		}));
		expect(lossWords(days.slice(0, 1), [])).toMatch(
			/accepted: 6 of 2026-03-01\.$/,
		);
		expect(lossWords(days, days.slice(0, 1))).toMatch(
			/6 of 2026-03-07 and of 2 earlier dates\. Rows that the table has of them stay, on 1 date\.$/,
		);
	});
});
