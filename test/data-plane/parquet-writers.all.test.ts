// In make test: ingest/operation/import/parquet-type.test.ts
import { join } from "node:path";
import { test } from "vitest";
import { hasPython, pythonEnvironment } from "../support/servers/python.ts";
import {
	arrowIsExact,
	duckDBIsExact,
	fileBy,
	fileByDuckDB,
} from "./parquet-writers-cases.ts";

test("each value of a file that pyarrow writes is imported exactly", async (context) => {
	if (!(await hasPython()))
		return context.skip("there is no Python 3 with venv");
	const bin = await pythonEnvironment("pyarrow", ["pyarrow==26.0.1"]);
	const python = join(bin, "python");
	await arrowIsExact(await fileBy(python, "arrow.py", "snappy", "1.0"));
});

test("each value of a file that DuckDB writes is imported exactly", async () => {
	await duckDBIsExact(await fileByDuckDB());
});
