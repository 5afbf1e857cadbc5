import { expect, test } from "vitest";
import { specOf } from "./destinations.ts";

test.each([
	[{}, undefined],
	[
		{ duckdb: "lake.duckdb", claim: "lake" },
		{
			type: "DuckDB",
			duckDB: { path: "lake.duckdb", volumeClaimName: "lake" },
		},
	],
	[
		{ bigquery: "example.com:acme.events", location: "EU", credentials: "key" },
		{
			type: "BigQuery",
			bigQuery: {
				projectId: "example.com:acme",
				dataset: "events",
				location: "EU",
				createDataset: false,
				credentials: { secretRef: { name: "key", key: "key.json" } },
			},
		},
	],
])("the options %j make the spec of a Destination", (options, spec) => {
	expect(specOf(options)).toEqual(spec);
});
