import { expect, test } from "vitest";
import { boundTo, specOf, userIn } from "./destinations.ts";

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
	[{ postgres: "mysql://db/a" }, "must be an address such as postgres://db"],
	[{ clickhouse: "ch://h/a" }, "an address and a database"],
	[{ postgres: "postgres://db/100%" }, 'has a "%" that begins no escape'],
	[{ postgres: "a%ff@db/a" }, "For the sign itself, write %25"],
	[{ clickhouse: "https://h/a%zz" }, 'has a "%" that begins no escape'],
	[{ postgres: "postgres://db/a" }, "needs --secret-ref, or the user in"],
	[{ clickhouse: "https://ch.example.com" }, "an address and a database"],
	[{ bigquery: "acme" }, "must be a project and a dataset"],
])("%j is refused, and the message says what is right", (words, message) => {
	expect(() => specOf(words, undefined)).toThrow(message);
});

test.each([
	["postgres", "postgres://ada:s3cret@db/a", "postgres://ada@db/a"],
	["postgres", "ada:s3cret@db/a", "ada@db/a"],
	["postgres", "ada:s3c/s3cret@db/a", "ada@db/a"],
	["postgres", "postgres://ada:s3c#?s3cret@db/a", "postgres://ada@db/a"],
	["postgres", "postgres://ada:s3c@s3cret@db/a", "postgres://ada@db/a"],
	["postgres", "postgres://ada:s3c:s3cret @db/a", "postgres://ada@db/a"],
	["postgres", "postgres://db/a?password=s3cret", "postgres://db/a"],
	["postgres", "host=db user=ada password=s3cret", "'host=db user=ada'"],
	["clickhouse", "https://ada:s3c/s3cret@ch/a", "https://ada@ch/a"],
	["clickhouse", "https://ch/a?user=a&password=s3", "'https://ch/a?user=a'"],
	["bigquery", "ada:s3cret@db", "ada@db"],
])(
	"a password in --%s is refused without it, and the message has the command that takes it from standard input: %s",
	(option, word, without) => {
		const message = refusalOf({ [option]: word });
		expect(message).toContain(
			`tidemill destinations create <name> --${option} ${without} --secret-stdin < password`,
		);
		expect(message).not.toContain("s3c");
	},
);

test.each([
	[{ postgres: "ada@db/a" }, "ada"],
	[{ postgres: "postgresql://ada%40b@db/a" }, "ada@b"],
	[{ postgres: "db:5432/a" }, undefined],
	[{ clickhouse: "https://ada@ch/a" }, "ada"],
	[{ duckdb: "a.duckdb" }, undefined],
])("the user of %j is %s", (words, user) => {
	expect(userIn(words)).toBe(user);
});

test("what stands before an @ is in no message: it may be a password", () => {
	const words = { postgres: "postgres://s3cret@", clickhouse: "s3cret@ch/a" };
	for (const [option, word] of Object.entries(words)) {
		const message = refusalOf({ [option]: word });
		expect(message).toContain("must be an address");
		expect(message).not.toContain("s3cret");
	}
});

function refusalOf(words: Record<string, string>): string {
	try {
		specOf(words, undefined);
	} catch (error) {
		return (error as Error).message;
	}
	throw new Error("It isn't refused");
}

test("the Secret of an address is bound to it", () => {
	const spec = specOf({ postgres: "postgres://db.example.com/a" }, "pg")!;
	expect(boundTo(spec)).toEqual({
		"tidemill.dev/hosts": "postgres+verify-full://db.example.com:5432",
	});
	expect(boundTo(specOf({ duckdb: "a.duckdb" }, undefined)!)).toEqual({});
});
