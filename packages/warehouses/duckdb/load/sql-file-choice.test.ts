import { expect, test } from "vitest";
import { chooseFile } from "./sql.ts";

test("the only DuckDB file is chosen, whatever other files there are", () => {
	expect(
		chooseFile("/w", ["shop.duckdb", "shop.duckdb.wal", "notes.txt"]),
	).toBe("shop.duckdb");
});

test("a Destination's own file is chosen among several", () => {
	expect(chooseFile("/w", ["a.duckdb", "b.duckdb"], "b")).toBe("b.duckdb");
});

test.each([
	[undefined, undefined, "There is no DuckDB file in /w"],
	[[], undefined, "There is no DuckDB file in /w"],
	[["b.duckdb", "a.duckdb"], undefined, "a.duckdb, b.duckdb. Choose one"],
	[["a.duckdb"], "c", "There is no c.duckdb in /w, which has: a.duckdb"],
])(
	"%j with destination %j is refused, and the message lists the files",
	(names, destination, words) => {
		expect(() => chooseFile("/w", names, destination)).toThrow(words);
	},
);
