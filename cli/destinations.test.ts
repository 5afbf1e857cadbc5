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
	[
		{
			postgres: "db.example.com:5433",
			postgresSecret: "pg",
			sslMode: "require",
		},
		{
			type: "Postgres",
			postgres: {
				...{ host: "db.example.com", port: 5433, sslMode: "require" },
				credentials: { secretRef: { name: "pg" } },
			},
		},
	],
])("the options %j make the spec of a Destination", (options, spec) => {
	expect(specOf(options)).toEqual(spec);
});

test("a mode of TLS that Postgres doesn't have is told with those it has", () => {
	const options = { postgres: "db", postgresSecret: "pg", sslMode: "prefer" };
	expect(() => specOf(options)).toThrow(
		'--ssl-mode is "prefer". It must be verify-full, which checks whose server it is, verify-ca or require; or disable, for a server on the loopback',
	);
});
