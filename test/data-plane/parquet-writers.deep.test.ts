// In make test: ingest/operation/import/parquet-type.test.ts
import { globSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { pythonEnvironment } from "../support/servers/python.ts";
import {
	arrowIsExact,
	bodiesOf,
	clickHouseIsExact,
	duckDBIsExact,
	fileBy,
	fileByDuckDB,
	sparkIsExact,
} from "./parquet-writers-cases.ts";

/** Spark needs Java 17. */
const packages = [
	...["pyarrow==26.0.1", "pyspark==4.3.0"],
	...["chdb==4.4.0", "chdb-core==26.9.0"],
];

let python: string;
beforeAll(async () => {
	python = join(await pythonEnvironment("parquet-writers", packages), "python");
});

test.each([
	["none", "1.0"],
	["gzip", "2.0"],
	["zstd", "2.0"],
	["brotli", "1.0"],
	["lz4", "2.0"],
])(
	"each value that pyarrow writes with %s and pages of version %s is imported exactly",
	async (...options) => {
		await arrowIsExact(await fileBy(python, "arrow.py", ...options));
	},
);

test("each INT96 has its nanoseconds, and a list of an older writer its items", async () => {
	expect(await bodiesOf(await fileBy(python, "int96.py"))).toEqual([
		'{"local":"2026-03-01T10:00:00.123456789","list":[1,null]}',
		'{"local":"1969-12-31T23:59:59.999999999","list":[]}',
		'{"local":null,"list":null}',
	]);
});

test.each(["zstd", "gzip, PARQUET_VERSION v2"])(
	"each value that DuckDB writes with %s is imported exactly",
	async (options) => {
		await duckDBIsExact(await fileByDuckDB(`, COMPRESSION ${options}`));
	},
);

test.each<[string[], string]>([
	[[], "2026-03-01T10:00:00.123456"],
	[
		[
			"spark.sql.parquet.writeLegacyFormat=true",
			"spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS",
			"spark.sql.parquet.compression.codec=gzip",
		],
		"2026-03-01T10:00:00.123456Z",
	],
])(
	"each value that Spark writes with %j is imported exactly",
	async (settings, at) => {
		const folder = await fileBy(python, "spark.py", ...settings);
		const [file] = globSync(join(folder, "*.parquet"));
		await sparkIsExact(file!, at);
	},
);

test.each(["zstd", "lz4", "none"])(
	"each value that ClickHouse writes with %s is imported exactly",
	async (compression) => {
		await clickHouseIsExact(await fileBy(python, "clickhouse.py", compression));
	},
);
