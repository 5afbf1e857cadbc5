import { expect, test } from "vitest";
import { boundTo, specOf } from "./destinations.ts";

test.each([
	[{}, undefined, undefined],
	[
		{ duckdb: "lake.duckdb" },
		undefined,
		{ type: "DuckDB", duckDB: { path: "lake.duckdb" } },
	],
	[
		{ bigquery: "example.com:acme.events" },
		"key",
		{
			type: "BigQuery",
			bigQuery: {
				projectId: "example.com:acme",
				dataset: "events",
				credentials: { secretRef: { name: "key", key: "key.json" } },
			},
		},
	],
	[
		{ postgres: "db.example.com:5433" },
		"pg",
		{
			type: "Postgres",
			postgres: {
				...{ host: "db.example.com", port: 5433 },
				credentials: { secretRef: { name: "pg" } },
			},
		},
	],
	[
		{ postgres: "postgresql://ada@[::1]/a%20b?sslmode=require" },
		"pg",
		{
			type: "Postgres",
			postgres: {
				...{ host: "::1", database: "a b", sslMode: "require" },
				credentials: { secretRef: { name: "pg" } },
			},
		},
	],
	[
		{ clickhouse: "https://ada@ch.example.com:8443/analytics" },
		"ch",
		{
			type: "ClickHouse",
			clickHouse: {
				url: "https://ch.example.com:8443",
				database: "analytics",
				credentials: { secretRef: { name: "ch" } },
			},
		},
	],
])(
	"the options %j with the Secret %j make the spec of a Destination",
	(words, secret, spec) => {
		expect(specOf(words, secret)).toEqual(spec);
	},
);

test.each([
	[
		{ postgres: "postgres://db/a?sslmode=prefer" },
		'sslmode of --postgres is "prefer". It must be verify-full, which checks whose server it is, verify-ca or require; or disable, for a server on the loopback',
	],
	[{ postgres: "postgres://" }, "must be an address such as postgres://db"],
	[{ postgres: "postgres://db/a" }, "needs --secret-ref, or the user in"],
	[{ clickhouse: "https://ch.example.com" }, "an address and a database"],
	[{ bigquery: "acme" }, "must be a project and a dataset"],
])("%j is refused, and the message says what is right", (words, message) => {
	expect(() => specOf(words, undefined)).toThrow(message);
});

test("an address with a password is refused without it, and the message has the command that takes it from standard input", () => {
	const postgres = "postgres://ada:s3cret@db.example.com/analytics";
	let message = "";
	try {
		specOf({ postgres }, undefined);
	} catch (error) {
		message = (error as Error).message;
	}
	expect(message).toContain(
		"tidemill destinations create <name> --postgres postgres://ada@db.example.com/analytics --secret-stdin < password",
	);
	expect(message).not.toContain("s3cret");
});

test("the Secret of an address is bound to it", () => {
	const spec = specOf({ postgres: "postgres://db.example.com/a" }, "pg")!;
	expect(boundTo(spec)).toEqual({
		"tidemill.dev/hosts": "postgres+verify-full://db.example.com:5432",
	});
	expect(boundTo(specOf({ duckdb: "a.duckdb" }, undefined)!)).toEqual({});
});
