import pg from "pg";
import { expect, test } from "vitest";
import { JobFailure } from "../../load/failure.ts";
import { failureOf } from "./failure.ts";

/** An ErrorResponse with a marked value wherever a server may quote one. */
function refused(code: string, fields: Partial<pg.DatabaseError> = {}) {
	const quoting = {
		detail: "Failing row contains (MARKED).",
		hint: "MARKED",
		where: 'COPY orders_p20260301, line 7, column n: "MARKED"',
		internalQuery: "MARKED",
	};
	return Object.assign(
		new pg.DatabaseError("MARKED is refused", 1, "error"),
		{ ...quoting, code },
		fields,
	);
}

const failed = (error: pg.DatabaseError) =>
	failureOf(error, "db:5432") as JobFailure<string>;

const inCopy = "COPY orders_p20260301, line 7";

test.each([
	[
		"a CHECK",
		"23514",
		{ constraint: "positive", table: "orders" },
		'by constraint "positive" in table "orders"',
	],
	[
		"NOT NULL",
		"23502",
		{ column: "n", table: "orders" },
		'in column "n" of table "orders"',
	],
	[
		"UNIQUE",
		"23505",
		{ constraint: "once", table: "orders" },
		'by constraint "once" in table "orders"',
	],
	[
		"a foreign key",
		"23503",
		{ constraint: "of", table: "notes", where: undefined },
		'by constraint "of" in table "notes"',
	],
	[
		"EXCLUDE",
		"23P01",
		{ constraint: "apart", table: "orders" },
		'by constraint "apart" in table "orders"',
	],
	[
		"a domain",
		"23514",
		{ constraint: "short", where: `${inCopy}, column email` },
		'by constraint "short" in column "email"',
	],
	["a generated column", "22P02", {}, ""],
	["the CHECK OPTION of a view", "44000", { where: undefined }, ""],
	["a division", "22012", { where: undefined }, ""],
])("a row that %s refuses is told by names alone", (_, code, fields, words) => {
	const failure = failed(refused(code, { where: inCopy, ...fields }));
	expect(failure.code).toBe("RowsRefused");
	expect(failure.what).toBe(
		`Postgres at db:5432 refuses rows${words && ` ${words}`} (SQLSTATE ${code}).`,
	);
	expect(failure.stack).not.toContain("MARKED");
});

test.each(["P0001", "42501", "57014", "53100", "XX000", "23514", "99999"])(
	"a function or trigger that raises %s is told by that alone",
	(code) => {
		const { what, retryable } = failed(
			refused(code, {
				where: `PL/pgSQL function MARKED() line 3 at RAISE\n${inCopy}`,
				constraint: "MARKED",
				table: "MARKED",
				column: "MARKED",
			}),
		);
		expect(what).toBe(
			`Postgres at db:5432 refuses rows (SQLSTATE ${code}, in a function or a trigger).`,
		);
		expect(retryable).toBe(code === "57014" || code === "53100");
	},
);

test.each(["P0001", "42601", "XX000", "38000", "P0002", "02000"])(
	"SQLSTATE %s may quote anything, so only it is told",
	(code) => {
		expect(failed(refused(code, { where: undefined })).what).toBe(
			`Postgres at db:5432 refuses a statement (SQLSTATE ${code}).`,
		);
	},
);

test.each([
	["42501", "PermissionDenied", "permission denied for table orders"],
	["53100", "PostgresFull", "could not extend file: No space left on device"],
	["28P01", "CredentialsRefused", "password authentication failed"],
	["42P01", "PostgresRefused", 'relation "orders" does not exist'],
])("SQLSTATE %s, %s, keeps the server's own message", (code, own, message) => {
	const error = Object.assign(refused(code, { where: inCopy }), { message });
	expect(failed(error)).toMatchObject({
		code: own,
		what: `Postgres at db:5432 says: ${message} (SQLSTATE ${code}).`,
	});
});

test("what depends on a table is named", () => {
	const error = Object.assign(
		refused("2BP01", { where: undefined, detail: "view v depends on table t" }),
		{ message: "cannot drop table t" },
	);
	expect(failed(error).what).toContain(
		"says: cannot drop table t. view v depends on table t (SQLSTATE 2BP01)",
	);
});

test("an error of the session that makes the rows isn't Postgres'", () => {
	const error = new JobFailure("ObjectMismatch", "Corrupt");
	expect(failureOf(error, "db:5432")).toBe(error);
});

test("of a server without TLS the first remedy is to turn it on there", () => {
	const failure = failureOf(
		new Error("The server does not support SSL connections"),
		"db:5432",
	) as JobFailure<"EncryptionMissing">;
	expect(failure.code).toBe("EncryptionMissing");
	expect(failure.message).toMatch(
		/^The server db:5432 offers no TLS\. Turn TLS on at the server .* Only for a server on the loopback/,
	);
});
