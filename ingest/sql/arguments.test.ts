import { expect, test } from "vitest";
import { parseSqlArguments } from "./arguments.ts";

test("a query alone is for the default namespace, as a table", () => {
	expect(parseSqlArguments(["select 1"])).toEqual({
		query: "select 1",
		format: "table",
		from: { namespace: "default" },
	});
});

test("a destination, a namespace and a format can be named", () => {
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
	[[], "There is no query"],
	[["select", "1"], "single quotes"],
	[["--format", "xml", "q"], "choose one of table, json, csv"],
	[["--file", "a", "--destination", "b", "q"], "--file names the file itself"],
	[["--frmat", "json", "q"], "Unknown option '--frmat'"],
])("%j is refused with what to type instead", (args, words) => {
	expect(() => parseSqlArguments(args)).toThrow(words);
});
