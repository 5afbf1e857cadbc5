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
			for (const odd of [
				"secret\n",
				"secret\r\n",
				"sec\0ret",
				"\tsecret",
				"\x7f",
				"\x85",
			])
				expect(problemOf(odd)).toBe(
					"has a control character, such as a line end, which is no part of it. Write it without one, as `kubectl create secret` does.",
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

test("a host of a Secret is one name or address", () => {
	const { problemOf } = ofPostgres.find(({ key }) => key === "host")!;
	for (const host of ["db", "db.shop.svc.", "10.0.0.7", "fd00::1"])
		expect(problemOf(host), host).toBeUndefined();
	for (const host of ["a,b", "/var/run/postgresql", "a b", "", "a@b"])
		expect(problemOf(host), host).toBe(
			"is no host's name or address, such as db.example.com.",
		);
});

test.each(["host", "port", "dbname"])(
	"a %s of a Secret has no control character, which other protocols read",
	(name) => {
		const { problemOf } = ofPostgres.find(({ key }) => key === name)!;
		for (const odd of ["1\r\n", "1\n2", "1\0"])
			expect(problemOf(odd)).toContain("has a control character");
	},
);
