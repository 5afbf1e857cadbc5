import { expect, test } from "vitest";
import { parseSqlArguments } from "./arguments.ts";

test("a query alone reads the default namespace and prints a table", () => {
	expect(parseSqlArguments(["select 1"])).toEqual({
		query: "select 1",
		format: "table",
		from: { namespace: "default" },
	});
});

test("--destination, --namespace and --format are accepted", () => {
	expect(
		parseSqlArguments([
			"--destination",
			"warehouse",
			"--namespace=shop",
			"--format",
			"csv",
			"from t",
		]),
	).toEqual({
		query: "from t",
		format: "csv",
		from: { namespace: "shop", destination: "warehouse" },
	});
});

test.each([
	[[], "The query is missing"],
	[["select", "1"], "single quotes"],
	[["--format", "xml", "q"], "Choose one of table, json, csv"],
	[["--file", "a", "--destination", "b", "q"], "--file names the file itself"],
	[["--frmat", "json", "q"], "Unknown option '--frmat'"],
])(
	"%j is refused, and the message says what to type instead",
	(args, words) => {
		expect(() => parseSqlArguments(args)).toThrow(words);
	},
);
