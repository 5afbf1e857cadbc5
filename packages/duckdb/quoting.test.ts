import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { hostileTexts } from "../../test/support/strangers/hostile-texts.ts";
import { quoteName, quoteText } from "./quoting.ts";

test("DuckDB takes each text for itself, as a value, a name and a comment", async () => {
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	const values = await connection.runAndReadAll(
		`SELECT [${hostileTexts.map(quoteText).join(", ")}] AS texts`,
	);
	expect(values.getRowObjectsJson()).toEqual([{ texts: [...hostileTexts] }]);
	// A name isn't empty.
	for (const text of hostileTexts.filter((text) => text !== "")) {
		await connection.run(
			`CREATE OR REPLACE TABLE t AS SELECT 1 AS ${quoteName(text)}; COMMENT ON COLUMN t.${quoteName(text)} IS ${quoteText(text)}`,
		);
		const columns = await connection.runAndReadAll(
			"SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 't'",
		);
		expect(columns.getRowsJson()).toEqual([[text, text]]);
	}
	connection.closeSync();
	instance.closeSync();
});
