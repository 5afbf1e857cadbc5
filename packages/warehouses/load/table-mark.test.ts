import { expect, test } from "vitest";
import { manifestOf } from "../../../test/support/examples/manifest-example.ts";
import {
	believed,
	isSuperseded,
	markAfter,
	markDuring,
	missingDays,
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
	["no Run", undefined, false],
	["this Run", { run: "u", snapshotMs: snapshotMs + 1 }, false],
	["an earlier Run", { run: "v", snapshotMs: snapshotMs - 1 }, false],
	["a Run of the same instant", { run: "v", snapshotMs }, false],
	["a later Run", { run: "v", snapshotMs: snapshotMs + 1 }, true],
] as const)(
	"a Run that finds the mark of %s is superseded: %j",
	(_, mark, is) => {
		expect(isSuperseded(mark, manifestOf())).toBe(is);
	},
);

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
	[
		"a table restored from an hour before the last success",
		through("2026-03-09"),
		{ ...rest, since: "2026-03-10T12:00:00Z" },
	],
	["no table, with chosen days", undefined, chosen],
	["another Source's table, with chosen days", other, chosen],
])("a part of the window is not enough for %s", (_, mark, asked) => {
	expect(missingDays(mark, manifestOf({ asked }))).toBeDefined();
});

test.each([
	["that is complete through the day before", "2026-03-07", rest],
	["that is complete through later days", "2026-03-09", rest],
	[
		"that the last success loaded",
		"2026-03-09",
		{ ...rest, since: "2026-03-10T11:59:59.999Z" },
	],
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
	[
		"chosen days after those",
		through("2026-03-07"),
		{ extent: "Chosen", start: "2026-03-09", end: "2026-03-09" },
		"2026-03-07",
	],
	[
		"a range that ends in the future",
		undefined,
		{ extent: "Whole", end: "2026-04-01" },
		"2026-03-09",
	],
] as const)(
	"after %s the table is complete through %s",
	(_, before, asked, date) => {
		expect(markAfter(before, manifestOf({ asked }), "shop/p")).toEqual({
			run: "u",
			snapshotMs,
			pipeline: "shop/p",
			sourceKey,
			holds: { sourceKey, through: date },
		});
	},
);

test("while the whole window is loaded, the table promises nothing", () => {
	const mark = markDuring(through("2026-03-07"), manifestOf(), "shop/p");
	const ours = { pipeline: "shop/p", sourceKey };
	expect(mark).toEqual({ run: "u", snapshotMs, ...ours });
});

test("while the rest is loaded, the table keeps its promise", () => {
	const manifest = manifestOf({ asked: rest });
	const mark = markDuring(through("2026-03-07"), manifest, "shop/p");
	expect(mark.holds?.through).toBe("2026-03-07");
});

test("of a mark of the future whose the table is and where its rows come from is believed, and a Run of the whole window that a person asks for is refused by no mark's time", () => {
	const now = snapshotMs;
	const of = { pipeline: "shop/orders", record: "content-run" };
	const mark = { ...through("2026-03-14"), ...of };
	const at = (ms: number) => ({ ...mark, snapshotMs: now + ms });
	expect(believed(at(30_000), {}, now)).toEqual(at(30_000));
	const { holds, ...whose } = mark;
	expect(believed(at(30_001), {}, now)).toEqual({ ...whose, snapshotMs: 0 });
	const passed = believed(at(30_001), { full: true }, now + 90_000);
	expect(passed).toEqual({ ...mark, snapshotMs: 0 });
	expect(isSuperseded(passed, manifestOf())).toBe(false);
	expect(believed(undefined, { full: true }, now)).toBeUndefined();
});
