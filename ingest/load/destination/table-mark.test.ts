import { expect, test } from "vitest";
import { manifestOf } from "../../../test/support/examples/manifest-example.ts";
import {
	markAfter,
	markDuring,
	missingDays,
	ownershipOf,
} from "./table-mark.ts";

const { sourceKey } = manifestOf();
const snapshotMs = Date.parse("2026-03-10T12:00:00Z");
const through = (date: string) => ({
	run: "earlier",
	snapshotMs: snapshotMs - 1,
	holds: { sourceKey, through: date },
});
const other = {
	...through("2026-03-09"),
	holds: { sourceKey: "e".repeat(32), through: "2026-03-09" },
};
const interrupted = { run: "earlier", snapshotMs: snapshotMs - 1 };
const rest = { extent: "Rest", start: "2026-03-08" } as const;
const chosen = {
	extent: "Chosen",
	start: "2026-02-20",
	end: "2026-02-20",
} as const;

test.each([
	["an unmarked table", undefined, "free"],
	["this Run's", { run: "u", snapshotMs: snapshotMs + 1 }, "ours"],
	["an earlier Run's", { run: "v", snapshotMs: snapshotMs - 1 }, "free"],
	["a Run's of the same instant", { run: "v", snapshotMs }, "free"],
	["a later Run's", { run: "v", snapshotMs: snapshotMs + 1 }, "theirs"],
] as const)("%s is %j", (_, mark, whose) => {
	expect(ownershipOf(mark, manifestOf())).toBe(whose);
});

test.each([
	["no table", undefined],
	["a table whose whole load was interrupted", interrupted],
	["another Source's table", other],
	["a table of old", through("2026-02-01")],
])("the whole window is enough for %s", (_, mark) => {
	expect(missingDays(mark, manifestOf())).toBeUndefined();
});

test.each([
	["no table", undefined, rest],
	["a table whose whole load was interrupted", interrupted, rest],
	["another Source's table", other, rest],
	["a table restored from before", through("2026-03-06"), rest],
	["no table, with chosen days", undefined, chosen],
	["another Source's table, with chosen days", other, chosen],
])("a part of the window is not enough for %s", (_, mark, asked) => {
	expect(missingDays(mark, manifestOf({ asked }))).toBeDefined();
});

test.each([
	["that is complete through the day before", "2026-03-07", rest],
	["that is complete through later days", "2026-03-09", rest],
	[
		"that is complete through the end of the range",
		"2026-03-01",
		{ ...rest, end: "2026-03-01" },
	],
	["of old, with chosen days", "2026-02-01", chosen],
] as const)("the rest is enough for a table %s", (_, date, asked) => {
	expect(missingDays(through(date), manifestOf({ asked }))).toBeUndefined();
});

test.each([
	["the whole window", undefined, { extent: "Whole" }, "2026-03-09"],
	["another Source's window", other, { extent: "Whole" }, "2026-03-09"],
	[
		"a range that ends before",
		undefined,
		{ extent: "Whole", end: "2026-03-05" },
		"2026-03-05",
	],
	["the rest", through("2026-03-07"), rest, "2026-03-09"],
	[
		"a range that ends before what the table holds",
		through("2026-03-07"),
		{ ...rest, end: "2026-03-01" },
		"2026-03-07",
	],
	["chosen days", through("2026-03-07"), chosen, "2026-03-07"],
] as const)(
	"after %s the table is complete through %s",
	(_, before, asked, date) => {
		expect(markAfter(before, manifestOf({ asked }))).toEqual({
			run: "u",
			snapshotMs,
			holds: { sourceKey, through: date },
		});
	},
);

test("while the whole window is loaded, the table promises nothing", () => {
	const mark = markDuring(through("2026-03-07"), manifestOf());
	expect(mark).toEqual({ run: "u", snapshotMs });
});

test("while the rest is loaded, the table keeps its promise", () => {
	const mark = markDuring(through("2026-03-07"), manifestOf({ asked: rest }));
	expect(mark.holds?.through).toBe("2026-03-07");
});
