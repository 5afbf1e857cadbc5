import { expect, test } from "vitest";
import { renderTable } from "./query-table.ts";

const columns = [
	{ name: "event_id", numeric: false },
	{ name: "n", numeric: true },
];

test("columns are as wide as their widest cell, numbers are right-aligned, and NULL is shown", () => {
	expect(
		renderTable(columns, [
			["a", "1"],
			["long-one", "100"],
			[null, null],
		]),
	).toBe(
		[
			" event_id | n",
			"----------+------",
			" a        |    1",
			" long-one |  100",
			" NULL     | NULL",
			"(3 rows)",
			"",
		].join("\n"),
	);
});

test("a result without rows still shows its columns", () => {
	expect(renderTable(columns, [])).toBe(
		" event_id | n\n----------+---\n(0 rows)\n",
	);
});

test("a row stays on one line, whatever it contains", () => {
	const table = renderTable(
		[{ name: "body", numeric: false }],
		[['{\n\t"a": "\u001b[31m"\r\n}']],
	);
	expect(table.split("\n")).toEqual([
		" body",
		"-".repeat(29),
		' {\\n\\t"a": "\\u001b[31m"\\r\\n}',
		"(1 row)",
		"",
	]);
});

test("wide characters take two cells, and combining ones none", () => {
	const lines = renderTable(
		[
			{ name: "x", numeric: false },
			{ name: "y", numeric: false },
		],
		[
			["日本🎉", "1"],
			["e\u0301", "2"],
		],
	).split("\n");
	expect(lines[2]).toBe(" 日本🎉 | 1");
	expect(lines[3]).toBe(" e\u0301      | 2");
});

test("on a terminal the widest columns are cut, and narrow ones are not", () => {
	const table = renderTable(
		columns,
		[
			["x".repeat(200), "12"],
			["🎉".repeat(100), "3"],
		],
		40,
	);
	const lines = table.split("\n");
	expect(lines[2]).toBe(` ${"x".repeat(31)}… | 12`);
	expect(lines[3]).toBe(` ${"🎉".repeat(15)}…  |  3`);
	for (const line of lines) expect(line.length).toBeLessThanOrEqual(40);
});

test("without a width no cell is cut", () => {
	expect(
		renderTable([{ name: "b", numeric: false }], [["x".repeat(5000)]]),
	).toContain("x".repeat(5000));
});
