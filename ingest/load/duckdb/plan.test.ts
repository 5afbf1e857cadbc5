import { expect, test } from "vitest";
import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import { manifestOf } from "../../../test/support/examples/manifest-example.ts";
import type { ExistingColumn } from "../destination/incompatibility.ts";
import type { TableMark } from "../destination/table-mark.ts";
import type { LoadDay } from "../fetch/load-days.ts";
import { planLoad } from "./plan.ts";

const columns: TableColumn[] = [
	{ name: "event_id", from: "EventID" },
	{ name: "body", from: "Body" },
	{ name: "date", from: "Date" },
];
const fitting = [
	{ name: "event_id", type: "VARCHAR" },
	{ name: "body", type: "VARCHAR" },
	{ name: "date", type: "DATE" },
];
const days: LoadDay[] = [
	{ date: "2026-03-01", rows: 3, objects: [object("a", 1), object("b", 2)] },
	{ date: "2026-03-02", rows: 0, objects: [] },
];

function object(key: string, rows: number) {
	return { key, url: "", rows, bytes: 1, file: `/s/${key}` };
}

function input(more: Partial<LoadInput> = {}): LoadInput {
	return {
		version: 1,
		run: { name: "r", uid: "u", account: "shop", pipeline: "p" },
		destination: { type: "DuckDB", path: "w.duckdb" },
		table: { name: "orders", columns, description: "from p" },
		strategy: "Incremental",
		rebuild: false,
		manifestURL: "http://x",
		...more,
	};
}

function withColumns(
	columns: TableColumn[],
	strategy: LoadInput["strategy"] = "Incremental",
): LoadInput {
	return input({ strategy, table: { ...input().table, columns } });
}

function plan(
	input: LoadInput,
	days: LoadDay[],
	existing: ExistingColumn[] | undefined,
	mark?: TableMark,
	manifest = manifestOf(),
) {
	const table = existing && {
		columns: existing,
		comment: { words: "theirs", ...(mark && { mark }) },
	};
	return planLoad(input, manifest, days, table);
}

/** Without the comment, which every load writes. */
function steps(...parameters: Parameters<typeof plan>): string[] {
	return plan(...parameters)
		.steps.filter((step) => step.do !== "Comment")
		.map((step) =>
			["do", "date", "rows"]
				.map((key) => (step as Record<string, unknown>)[key])
				.filter((value) => value !== undefined)
				.join(" "),
		);
}

test("the first load creates the table", () => {
	expect(steps(input(), days, undefined)).toEqual([
		"CreateTable",
		"DeleteDay 2026-03-01",
		"DeleteDay 2026-03-02",
		"Insert",
		"CheckRows 2026-03-01 3",
		"CheckRows 2026-03-02 0",
	]);
});

test("a later load replaces exactly the manifest's days, empty ones too", () => {
	expect(steps(input(), days, fitting)).toEqual([
		"DeleteDay 2026-03-01",
		"DeleteDay 2026-03-02",
		"Insert",
		"CheckRows 2026-03-01 3",
		"CheckRows 2026-03-02 0",
	]);
});

test("one statement inserts all objects", () => {
	const { steps } = plan(input(), days, fitting);
	expect(steps.find((step) => step.do === "Insert")).toMatchObject({
		days: [{ date: "2026-03-01", rows: 3 }],
		files: ["/s/a", "/s/b"],
	});
});

test("a full reload replaces the whole table and counts all its rows", () => {
	const full = withColumns(columns.slice(0, 2), "FullReload");
	expect(steps(full, days, fitting.slice(0, 2))).toEqual([
		"ReplaceTable",
		"Insert",
		"CheckRows 3",
	]);
});

test("event ids are counted if the table has them, by its name for them", () => {
	const checks = (columns: TableColumn[], strategy?: "FullReload") =>
		plan(withColumns(columns, strategy), days, undefined).steps.filter(
			(step) => step.do === "CheckRows",
		);
	const [, body, date] = columns;
	const renamed: TableColumn = { name: "id", from: "EventID" };
	expect(checks([body!, renamed, date!])).toEqual([
		{ do: "CheckRows", date: "2026-03-01", rows: 3, eventID: "id" },
		{ do: "CheckRows", date: "2026-03-02", rows: 0, eventID: "id" },
	]);
	expect(checks([body!], "FullReload")).toEqual([{ do: "CheckRows", rows: 3 }]);
});

test("a Source without events gets an empty table", () => {
	expect(steps(input(), [], undefined)).toEqual(["CreateTable"]);
	expect(steps(input(), [], fitting)).toEqual([]);
});

test("a newly captured header becomes a new column", () => {
	const header = { name: "header_x_a", from: { header: "x-a" } };
	const { steps } = plan(withColumns([...columns, header]), days, fitting);
	expect(steps[0]).toEqual({ do: "AddColumns", columns: [header] });
});

test("a column that is no longer loaded stays with its old values", () => {
	expect(
		steps(input(), days, [
			...fitting,
			{ name: "header_x", type: "VARCHAR" },
		])[0],
	).toBe("DeleteDay 2026-03-01");
});

test("column names match in any case, as in SQL", () => {
	const shouted = fitting.map(({ name, type }) => ({
		name: name.toUpperCase(),
		type,
	}));
	expect(steps(input(), days, shouted)[0]).toBe("DeleteDay 2026-03-01");
});

test.each([
	[
		"of another type",
		[...fitting.slice(0, 2), { name: "date", type: "TIMESTAMP" }],
		'its column "date" has type TIMESTAMP, but the load needs DATE',
	],
	[
		"without Date (ticked since the last load)",
		fitting.slice(0, 2),
		'it has no column "date"',
	],
	[
		"made for another purpose",
		[
			{ name: "id", type: "INTEGER" },
			{ name: "date", type: "DATE" },
		],
		'it has no column "event_id"',
	],
])("a table %s is not loaded into", (_, existing, words) => {
	expect(() => plan(input(), days, existing)).toThrow(
		`Table orders is incompatible: `,
	);
	expect(() => plan(input(), days, existing)).toThrow(words);
	expect(steps(input({ rebuild: true }), days, existing)).toEqual([
		"ReplaceTable",
		"Insert",
		"CheckRows 2026-03-01 3",
		"CheckRows 2026-03-02 0",
	]);
});

test("a full reload never drops a column that it doesn't load", () => {
	const full = withColumns(columns.slice(0, 2), "FullReload");
	expect(() => plan(full, days, fitting)).toThrow(
		'a full reload would drop its column "date"',
	);
});

test("a compatible table is not rebuilt, even where that is allowed", () => {
	expect(steps(input({ rebuild: true }), days, fitting)[0]).toBe(
		"DeleteDay 2026-03-01",
	);
});

const rest = manifestOf({
	asked: { extent: "Rest", start: "2026-03-01" },
});
const complete: TableMark = {
	run: "earlier",
	snapshotMs: 0,
	holds: { sourceKey: rest.sourceKey, through: "2026-02-28" },
};

test.each<[string, ExistingColumn[] | undefined, TableMark | undefined]>([
	["was dropped", undefined, undefined],
	["was made by somebody else", fitting, undefined],
	["would have to be rebuilt", fitting.slice(0, 2), complete],
	["lacks a column for older days", fitting.slice(0, 3), complete],
])(
	"a table that %s is not loaded with a part of its days",
	(_, existing, mark) => {
		const header = { name: "header_x_a", from: { header: "x-a" } };
		const columnsNow = existing === fitting ? columns : [...columns, header];
		const rebuild = { ...withColumns(columnsNow), rebuild: true };
		expect(() => plan(rebuild, days, existing, mark, rest)).toThrow(
			"Table orders has not been loaded completely from this Source",
		);
	},
);

test("a complete table is loaded with the rest of its days", () => {
	expect(steps(input(), days, fitting, complete, rest)[0]).toBe(
		"DeleteDay 2026-03-01",
	);
});

test("a load that slept until a later Run had ended changes nothing", () => {
	const later = {
		run: "later",
		snapshotMs: Date.parse("2026-03-11T00:00:00Z"),
	};
	expect(() => plan(input(), days, fitting, later)).toThrow(
		"Table orders has the data of Run uid later, whose snapshot is later",
	);
});

test.each([
	["a new table has the Pipeline's words", undefined, "from p\ntidemill: {"],
	["people's words stay", fitting, "theirs\ntidemill: {"],
])("%s beside the mark", (_, existing, text) => {
	const { steps } = plan(input(), days, existing);
	expect(steps.find((step) => step.do === "Comment")).toMatchObject({
		text: expect.stringContaining(text),
	});
});
