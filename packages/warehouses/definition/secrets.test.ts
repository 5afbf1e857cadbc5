import { expect, test } from "vitest";
import { definition as clickHouse } from "../clickhouse/definition.ts";
import { definition as postgres } from "../postgres/definition.ts";

const credentials = { secretRef: { name: "warehouse" } };
const ofPostgres = postgres.secrets({ credentials });
const ofClickHouse = clickHouse.secrets({
	url: "https://clickhouse.example.com",
	database: "shop",
	credentials,
});

test.each([
	["Postgres", ofPostgres],
	["ClickHouse", ofClickHouse],
] as const)(
	"a user's name and password are one line each, in %s",
	(_, uses) => {
		const line = uses.filter(({ key }) =>
			["username", "password"].includes(key),
		);
		expect(line).toHaveLength(2);
		for (const { problemOf } of line) {
			expect(problemOf("a secret, of one line")).toBeUndefined();
			for (const odd of ["secret\n", "secret\r\n", "sec\0ret"])
				expect(problemOf(odd)).toBe(
					"has a line end or a NUL, which is no part of it. Write it without one, as `kubectl create secret` does.",
				);
		}
	},
);

test("a port of a Secret is a whole number", () => {
	const { problemOf } = ofPostgres.find(({ key }) => key === "port")!;
	expect(problemOf("5432")).toBeUndefined();
	for (const port of ["0", "65536", "5432.5", "5e3", "", "postgres"])
		expect(problemOf(port), port).toBe(
			"is no port. It must be a number from 1 to 65535.",
		);
});
