import { expect, test } from "vitest";
import type {
	FoundColumnType,
	TableColumn,
} from "../../packages/contracts/job.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import { FoundColumns } from "./found-columns.ts";

interface Given {
	columns?: TableColumn[];
	free?: number;
	bytes?: number;
	type?: string;
	kind?: string;
}

/** What bodies get columns for. Each is the text itself, or a value. */
function foundIn(
	bodies: readonly unknown[],
	{
		columns = [],
		free = 500,
		bytes = 65_536,
		type = "DuckDB",
		kind,
	}: Given = {},
): Record<string, FoundColumnType> {
	const found = new FoundColumns(
		{
			table: { name: "orders", description: "", columns },
			destination: { type },
		},
		{ columns: free, bytes },
	);
	for (const body of bodies)
		found.add(typeof body === "string" ? body : JSON.stringify(body), kind);
	try {
		found.requireNone();
	} catch (error) {
		if (error instanceof JobFailure) return error.columns!;
		throw error;
	}
	return {};
}

const integer = (name: string, bodyPointer: string): TableColumn => ({
	name,
	from: { bodyPointer, type: "Integer" },
});

test("a member's type is that of its values, and objects give their members columns", () => {
	expect(
		foundIn([
			`{"i": -12, "n": 1.0, "e": 1e3, "b": false, "s": "12", "d": "2026-03-01",
			 "t": "2026-03-01T12:00:00+01:00", "a": [1, {"x": 2}], "o": {"p": {"q": "r"}}}`,
		]),
	).toEqual({
		"/i": "Integer",
		"/n": "Number",
		"/e": "Number",
		"/b": "Boolean",
		"/s": "String",
		"/d": "Date",
		"/t": "Timestamp",
		"/a": "JSON",
		"/o/p/q": "String",
	});
});

test.each<[object, Record<string, FoundColumnType>]>([
	[{ a: "" }, {}],
	[
		{ a: "", b: "x" },
		{ "/a": "Date", "/b": "String" },
	],
	[{ a: ["", "2026-03-01"] }, { "/a": "JSON" }],
	[{ a: " " }, { "/a": "String" }],
	[{ "": "", a: "2026-03-01T12:00:00Z" }, { "/a": "String" }],
])(
	"the empty fields of %j, a form, say nothing of columns",
	(body, expected) => {
		const filled = { a: "2026-03-01" };
		const bodies = Object.keys(expected).length > 0 ? [filled, body] : [body];
		expect(foundIn(bodies, { kind: "form" })).toEqual(expected);
		const json = foundIn([{ a: "" }, filled]);
		expect(json).toEqual({ "/a": "String" });
	},
);

test.each<[FoundColumnType, ...string[]]>([
	["Number", "1", "1.5"],
	["String", "1", '"x"'],
	["String", "true", "0"],
	["String", '"2026-03-01"', '"2026-03-01T12:00:00Z"'],
	["String", '"2026-03-01T12:00:00Z"', '""'],
	["JSON", "[]", '"x"', "1"],
	["Integer", "null", "1"],
	// A text keeps what a number loses.
	["String", "9223372036854775808"],
	["String", "1e999"],
	["Integer", "9223372036854775807"],
])("%s takes %s and %s, whichever comes first", (type, ...values) => {
	const bodies = values.map((value) => `{"a": ${value}}`);
	expect(foundIn(bodies)).toEqual({ "/a": type });
	expect(foundIn(bodies.toReversed())).toEqual({ "/a": type });
});

test("what is null or empty, and bodies that are no objects, give no column", () => {
	expect(
		foundIn([{ a: null, b: {}, c: { d: {} } }, [1, { e: 1 }], '"x"', "1", ""]),
	).toEqual({});
});

test("a member that a column has already gives none, nor does one of another kind at the same place", () => {
	const columns = [integer("id", "/id"), integer("order_id", "/order/id")];
	expect(
		foundIn(
			[
				{ id: { deep: 1 }, order: 5 },
				{ id: "x", order: { id: "y", no: 1 } },
			],
			{ columns },
		),
	).toEqual({ "/order/no": "Integer" });
	// Of a value and members of it, what more events have.
	expect(foundIn([{ a: 1 }, { a: { b: 1 } }, { a: { b: 2 } }])).toEqual({
		"/a/b": "Integer",
	});
	expect(foundIn([{ a: 1 }, { a: 2 }, { a: { b: 1 } }])).toEqual({
		"/a": "Integer",
	});
});

test("names are any that a pointer can have, and no name is a property of the program", () => {
	expect(
		foundIn([
			String.raw`{"__proto__": 1, "constructor": {"name": "x"}, "a/b~c": 1, "it's \"quoted\"": 1, "größe": 1, "": 1, "toString": 2}`,
		]),
	).toEqual({
		"/__proto__": "Integer",
		"/constructor/name": "String",
		"/a~1b~0c": "Integer",
		'/it\'s "quoted"': "Integer",
		"/größe": "Integer",
		"/": "Integer",
		"/toString": "Integer",
	});
});

test("what no status can hold gets no column: long names, line ends and halves of surrogate pairs", () => {
	expect(
		foundIn([
			{ ["x".repeat(200)]: 1, ["y".repeat(199)]: 1, "a\nb": 1, "a\u0000": 1 },
			String.raw`{"\ud83c": 1, "o": {"\ud83c": {"x": 1}}}`,
			{ o: { ["z".repeat(150)]: { ["z".repeat(150)]: 1 } } },
		]),
	).toEqual({ [`/${"y".repeat(199)}`]: "Integer" });
});

test("objects that are deep in others are one column, if the warehouse's JSON takes any value", () => {
	const deep = { a: { b: { c: { d: { e: { f: 1 } } } } } };
	expect(foundIn([deep])).toEqual({ "/a/b/c/d/e": "JSON" });
	const text = `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`;
	expect(foundIn([text])).toEqual({ "/a/a/a/a/a": "JSON" });
	expect(foundIn([deep, { list: [1] }], { type: "ClickHouse" })).toEqual({});
});

test("what most events have comes first, as far as there is room", () => {
	const bodies = [{ b: 1 }, { b: 1, a: 1, c: 1 }, { c: 1, b: 1 }];
	expect(Object.keys(foundIn(bodies))).toEqual(["/b", "/c", "/a"]);
	expect(Object.keys(foundIn(bodies, { free: 2 }))).toEqual(["/b", "/c"]);
	// A longer one doesn't fit, and leaves room for others.
	const long = { ["l".repeat(190)]: 1 };
	const room = { bytes: 260 };
	expect(
		Object.keys(foundIn([...bodies, ...Array(9).fill(long)], room)),
	).toEqual(["/b", "/c"]);
	expect(foundIn(bodies, { free: 0 })).toEqual({});
});

test("members without end take a part of a result, and of memory", () => {
	const names = (from: number, count: number) =>
		Object.fromEntries(
			Array.from({ length: count }, (_, index) => [`名前${from + index}`, 1]),
		);
	const bodies = Array.from({ length: 100 }, (_, at) => names(at * 200, 200));
	const found = foundIn(bodies);
	expect(Object.keys(found).length).toBeGreaterThan(50);
	expect(Buffer.byteLength(JSON.stringify(found))).toBeLessThanOrEqual(2_500);
});
