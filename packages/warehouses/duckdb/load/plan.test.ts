import { describe, expect, test } from "vitest";
import { manifestOf } from "../../../../test/support/examples/manifest-example.ts";
import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { TableComment } from "../../load/columns.ts";
import type { LoadDay } from "../../load/load-day.ts";
import type { TableMark } from "../../load/table-mark.ts";
import { type ExistingColumn, recordOf } from "../../load/table-plan.ts";
import { TableChanged } from "../../load/warehouse.ts";
import { duckDBTables, planLoad } from "./plan.ts";

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
	{
		date: "2026-03-01",
		rows: 3,
		objects: [object("a", 1), object("b", 2)],
		steps: [],
	},
	{ date: "2026-03-02", rows: 0, objects: [], steps: [] },
];

const rest = manifestOf({
	asked: { extent: "Rest", start: "2026-03-01" },
});
const complete: TableMark = {
	run: "earlier",
	snapshotMs: 0,
	pipeline: "shop/p",
	sourceKey: rest.sourceKey,
	holds: { sourceKey: rest.sourceKey, through: "2026-02-28" },
};

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

/** @param mark The Pipeline's own unless it is null. */
function plan(
	input: LoadInput,
	days: LoadDay[],
	existing: ExistingColumn[] | undefined,
	mark: TableMark | null = complete,
	manifest = manifestOf(),
) {
	const table =
		existing && tableOf(existing, { words: "theirs", ...(mark && { mark }) });
	return planLoad(input, manifest, days, table);
}

function tableOf(columns: ExistingColumn[], comment: TableComment) {
	return { columns, comment, isEmpty: false, isView: false, guards: [] };
}

/** Without the comments and the record, which every such load writes, and without DuckDB's setting. */
function steps(...parameters: Parameters<typeof plan>): string[] {
	return plan(...parameters)
		.steps.filter(
			(step) =>
				!["Comment", "CommentColumns", "Record", "SkipDictionary"].includes(
					step.do,
				),
		)
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

test("a table that has all comments on its columns gets none", () => {
	const comments = (existing: ExistingColumn[] | undefined) =>
		plan(input(), days, existing).steps.filter(
			(step) => step.do === "CommentColumns",
		);
	const [first] = comments(undefined);
	expect(first?.comments.map(({ name }) => name)).toEqual(
		columns.map(({ name }) => name),
	);
	const commented = fitting.map((column, index) => ({
		...column,
		comment: first!.comments[index]!.comment,
	}));
	expect(comments(commented)).toEqual([]);
	const [own] = comments([
		{ ...fitting[0]!, comment: "mine" },
		...fitting.slice(1),
	]);
	expect(own?.comments.map(({ name }) => name)).toEqual(["body", "date"]);
});

test("one statement inserts all objects", () => {
	const { steps } = plan(input(), days, fitting);
	expect(steps.find((step) => step.do === "Insert")).toMatchObject({
		days: [{ date: "2026-03-01", rows: 3 }],
		objects: [{ file: "/s/a" }, { file: "/s/b" }],
	});
});

describe("before the rows are inserted, dictionaries are ruled out where texts don't repeat", () => {
	const header: TableColumn = { name: "kind", from: { header: "x-kind" } };
	const amount: TableColumn = {
		name: "amount",
		from: { bodyPointer: "/amount", type: "Number" },
	};
	const body: TableColumn = { name: "Body", from: "Body" };
	const own = { name: "notes", type: "STRUCT(note VARCHAR)" };

	test.each<[string, TableColumn[], ExistingColumn[] | undefined, boolean]>([
		["ids and bodies alone", columns, undefined, true],
		["an existing table of them", columns, fitting, true],
		["a name in other letters", [body], fitting.slice(1), true],
		["a number of the body", [...columns, amount], undefined, true],
		["a header", [...columns, header], undefined, false],
		["a column of people's own", columns, [...fitting, own], false],
	])("%s", (_, columns, existing, skips) => {
		const { steps } = plan(withColumns(columns), days, existing);
		const kinds = steps.map((step) => step.do);
		const before = kinds[kinds.indexOf("Insert") - 1];
		expect(before === "SkipDictionary").toBe(skips);
		expect(kinds.includes("SkipDictionary")).toBe(skips);
	});

	test("a table that is replaced leaves no columns", () => {
		const rebuilt = plan(
			{ ...input(), rebuild: true },
			days,
			[{ name: "event_id", type: "BLOB" }, own],
			complete,
		);
		expect(rebuilt.steps).toContainEqual(
			expect.objectContaining({ do: "SkipDictionary" }),
		);
	});

	test("bodies are sampled from files all over the load, and ids alone need no sample", () => {
		const many = Array.from({ length: 10 }, (_, n) => object(`${n}`, 1));
		const day = { ...days[0]!, rows: 10, objects: many };
		const sampled = (columns: TableColumn[]) =>
			plan(withColumns(columns), [day], undefined).steps.find(
				(step) => step.do === "SkipDictionary",
			)?.bodiesOf;
		const spread = [0, 3, 5, 8].map((index) => `/s/${index}`);
		expect(sampled([body])).toEqual(spread);
		expect(sampled([columns[0]!, body])).toEqual(spread);
		expect(sampled([columns[0]!])).toEqual([]);
	});

	test("no rows, no setting", () => {
		const { steps } = plan(input(), days.slice(1), fitting);
		expect(steps.map((step) => step.do)).not.toContain("SkipDictionary");
	});
});

test("a full reload replaces all rows of the table and counts them", () => {
	const full = withColumns(columns.slice(0, 2), "FullReload");
	expect(steps(full, days, fitting.slice(0, 2))).toEqual([
		"DeleteRows",
		"Insert",
		"CheckRows 3",
	]);
	const [event] = fitting;
	expect(steps(full, days, [event!])[0]).toBe("AddColumns");
});

describe("a day that keeps rows", () => {
	const held = {
		rows: 4,
		digest: "7",
		loadedDigest: "7",
		loads: [
			{
				objects: ["old"],
				rows: 4,
				unfit: { body: { rows: 1, values: 4 } },
				run: "before",
			},
		],
	};
	const kept = { rows: 4, unfit: { body: { rows: 1, values: 4 } }, held };
	const [day, empty] = days as [LoadDay, LoadDay];
	const record = recordOf(duckDBTables, input(), manifestOf(), undefined)!;
	const mark: TableMark = { ...complete, record };
	const planKept = (
		days: LoadDay[],
		{ now = held, changes = {} as Partial<LoadInput>, existing = fitting } = {},
	) =>
		planLoad(
			input(changes),
			rest,
			days,
			tableOf(existing, { words: "", mark }),
			new Map([[day.date, now]]),
		).steps.filter(
			(step) =>
				!["Comment", "CommentColumns", "SkipDictionary"].includes(step.do),
		);
	const recorded = (days: LoadDay[]) =>
		planKept(days).find((step) => step.do === "Record")?.change;

	test("isn't deleted, and its new events must not be there yet", () => {
		expect(planKept([{ ...day, kept }, empty]).map((step) => step.do)).toEqual([
			"DeleteDay",
			"CheckNew",
			"Insert",
			"CheckRows",
			"CheckRows",
			"Record",
		]);
		expect(planKept([{ ...day, kept }])).toContainEqual({
			do: "CheckRows",
			date: day.date,
			rows: 7,
		});
		const id: TableColumn = { name: "id", from: "EventID" };
		const { table } = withColumns([...columns.slice(1), id]);
		expect(
			planLoad(
				input({ table }),
				manifestOf(),
				[{ ...day, kept }],
				tableOf([{ name: "id", type: "VARCHAR" }, ...fitting.slice(1)], {
					words: "",
					mark,
				}),
				new Map([[day.date, held]]),
			).steps,
		).toContainEqual({
			do: "CheckNew",
			date: day.date,
			eventID: "id",
			files: ["/s/a", "/s/b"],
		});
	});

	test("is not looked at for its new events in a table without their ids", () => {
		const { table } = withColumns(columns.slice(1));
		const { steps } = planLoad(
			input({ table }),
			manifestOf(),
			[{ ...day, kept }],
			tableOf(fitting.slice(1), { words: "", mark }),
			new Map([[day.date, held]]),
		);
		const kinds = steps.map((step) => step.do);
		expect(kinds).toContain("Insert");
		expect(kinds).not.toContain("CheckNew");
	});

	test("and lacks nothing stays untouched", () => {
		const steps = planKept([{ ...day, rows: 0, objects: [], kept }]);
		expect(steps).toEqual([{ do: "CheckRows", date: day.date, rows: 4 }]);
	});

	test("gets a record of what is new, and of all of it once names have changed", () => {
		expect(recorded([{ ...day, kept }])).toMatchObject({
			record,
			dates: [],
			loads: [{ objects: ["a", "b"], rows: 3, unfit: {} }],
			digests: new Map([[day.date, held.digest]]),
		});
		const renamed = { ...kept, renamed: ["compacted"] };
		expect(
			recorded([
				{ ...day, kept: renamed, unfit: { body: { rows: 2, values: 3 } } },
			]),
		).toMatchObject({
			dates: [day.date],
			loads: [
				{
					objects: ["compacted"],
					rows: 4,
					unfit: { body: { rows: 1, values: 4 } },
					run: "",
				},
				{
					objects: ["a", "b"],
					rows: 3,
					unfit: { body: { rows: 2, values: 3 } },
				},
			],
		});
		expect(recorded([{ ...day, steps: [{ deciding: ["r"] }] }])).toMatchObject({
			dates: [day.date],
			loads: [{ objects: ["r", "a", "b"], rows: 3 }],
		});
	});

	test.each<[string, Parameters<typeof planKept>[1]]>([
		["has other rows", { now: { ...held, rows: 5 } }],
		["has other values", { now: { ...held, digest: "8" } }],
		[
			"was loaded by another Run meanwhile",
			{ now: { ...held, loads: [...held.loads, held.loads[0]!] } },
		],
	])("is not added to if it %s when the transaction begins", (_, options) => {
		expect(() => planKept([{ ...day, kept }], options)).toThrow(TableChanged);
	});

	test("is not kept in a table that is rebuilt or gets a new column", () => {
		const header = { name: "header_x_a", from: { header: "x-a" } };
		const { table } = withColumns([...columns, header]);
		for (const [changes, existing] of [
			[{ table }, fitting],
			[{ rebuild: true }, fitting.slice(0, 2)],
		] as const)
			expect(() =>
				planLoad(
					input(changes),
					manifestOf(),
					[{ ...day, kept }],
					tableOf([...existing], { words: "", mark }),
					new Map([[day.date, held]]),
				),
			).toThrow(TableChanged);
	});
});

test.each<[string, Partial<LoadInput>, Partial<Manifest>]>([
	["another Source", {}, { sourceKey: "e".repeat(32) }],
	[
		"another value in a column",
		{
			table: {
				...input().table,
				columns: [
					...columns.slice(0, 1),
					{ name: "body", from: { bodyPointer: "/a", type: "String" } },
					...columns.slice(2),
				],
			},
		},
		{},
	],
])("a record doesn't hold for %s", (_, changes, other) => {
	const record = recordOf(duckDBTables, input(), manifestOf(), undefined)!;
	const mark = { ...complete, record };
	expect(
		recordOf(duckDBTables, input(), manifestOf({ run: "next" }), mark),
	).toBe(record);
	const started = recordOf(
		duckDBTables,
		input(changes),
		manifestOf({ run: "next", ...other }),
		mark,
	);
	expect(started).not.toBe(record);
	expect(started).toMatch(/-next$/);
});

test("a full reload keeps no record", () => {
	const full = withColumns(columns.slice(0, 2), "FullReload");
	const { steps } = plan(full, days, undefined);
	expect(steps.find((step) => step.do === "Record")).toMatchObject({
		change: { record: undefined, loads: [] },
	});
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

test("a table made for another purpose is not loaded into", () => {
	const other = [
		{ name: "id", type: "INTEGER" },
		{ name: "date", type: "DATE" },
	];
	const adopting = input({ adopt: true });
	expect(() => plan(adopting, days, other, null)).toThrow(
		'Table orders is incompatible: it has no column "event_id"',
	);
	// Of a table that loads have filled, any column but the date may have come later.
	expect(steps(input(), days, other)[0]).toBe("AddColumns");
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

test.each<[string, ExistingColumn[] | undefined, TableMark | null]>([
	["was dropped", undefined, null],
	["was made by somebody else, and is adopted", fitting, null],
	["would have to be rebuilt", fitting.slice(0, 2), complete],
	["lacks a column for older days", fitting.slice(0, 3), complete],
])(
	"a table that %s is not loaded with a part of its days",
	(_, existing, mark) => {
		const header = { name: "header_x_a", from: { header: "x-a" } };
		const columnsNow = existing === fitting ? columns : [...columns, header];
		const may = { rebuild: true, adopt: true } as const;
		const rebuild = { ...withColumns(columnsNow), ...may };
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

test("a view is nobody's table, and is dropped if it is adopted and may be rebuilt", () => {
	const view = { ...tableOf(fitting, { words: "" }), isView: true };
	const planned = (more: Partial<LoadInput>) =>
		planLoad(input(more), manifestOf(), days, view).steps[0];
	expect(() => planned({})).toThrow("not this Pipeline's");
	expect(() => planned({ adopt: true })).toThrow("it is a view");
	const replaced = { do: "ReplaceTable", columns, isView: true };
	expect(planned({ adopt: true, rebuild: true })).toEqual(replaced);
});

test("an empty table without a mark is filled", () => {
	const empty = { ...tableOf(fitting, { words: "theirs" }), isEmpty: true };
	const { steps } = planLoad(input(), manifestOf(), days, empty);
	expect(steps[0]).toMatchObject({
		do: "Comment",
		text: expect.stringMatching(
			/^theirs\ntidemill: .*"pipeline":"shop\/p".*"record":/,
		),
	});
});

test("a load that slept until a later Run had ended changes nothing", () => {
	const later = {
		...complete,
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

test.each<[string, LoadInput, ExistingColumn[] | undefined, unknown, unknown]>([
	["a new table", input(), undefined, undefined, {}],
	[
		"a table whose rows are replaced",
		input({
			strategy: "FullReload",
			table: { ...input().table, columns: columns.slice(0, 2) },
		}),
		fitting.slice(0, 2),
		{ without: "All", added: [] },
		{ replaces: "table", keeps: true },
	],
	[
		"a table with other days",
		input(),
		fitting,
		{ without: ["2026-03-01", "2026-03-02"], added: [] },
		{ replaces: "table", keeps: true },
	],
])(
	"rows that one transaction can't hold are staged for %s, which changes when all are there",
	(_, input, existing, stay, publish) => {
		const found = existing && tableOf(existing, { words: "", mark: complete });
		const { steps } = planLoad(
			input,
			manifestOf(),
			days,
			found,
			undefined,
			true,
		);
		expect(steps.map((step) => step.do)).toEqual([
			"SkipDictionary",
			"Stage",
			"Publish",
			"Comment",
			"CommentColumns",
			...(input.strategy === "FullReload"
				? ["CheckRows"]
				: ["CheckRows", "CheckRows"]),
			"Record",
		]);
		const [, staged, published] = steps;
		expect(staged).toMatchObject({
			slices: [[{ file: "/s/a" }, { file: "/s/b" }]],
		});
		expect("stay" in staged! ? staged.stay : undefined).toEqual(stay);
		expect(published).toEqual({ do: "Publish", ...(publish as object) });
	},
);
