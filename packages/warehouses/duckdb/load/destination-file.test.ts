import { inspect } from "node:util";
import { expect, test } from "vitest";
import { DatabaseBusy, DuckDBRefusal } from "../../../duckdb/session.ts";
import { JobFailure } from "../../load/failure.ts";
import { destinationFailure, PathOutside } from "./destination-file.ts";

test.each([
	[
		'IO Error: Could not write file "/w/a.duckdb": No space left on device',
		"DestinationFull",
	],
	[
		'IO Error: Could not write file "/s/duckdb/x.tmp": No space left on device',
		"ScratchFull",
	],
	[
		'IO Error: The file "/w/a.duckdb" exists, but it is not a valid DuckDB database file!',
		"DestinationUnreadable",
	],
	[
		'IO Error: Cannot open file "/w/a.duckdb": Permission denied',
		"DestinationNotWritable",
	],
	[
		"Out of Memory Error: failed to allocate data of size 64.0 MiB",
		"OutOfMemory",
	],
	[
		"TransactionContext Error: Failed to commit: failed to pin block of size 980.0 KiB (191.7 MiB/192.0 MiB used)",
		"OutOfMemory",
	],
	[
		"FATAL Error: Failed to rollback transaction. Cannot continue operation.\nOriginal Error: Out of Memory Error: failed to pin block",
		"OutOfMemory",
	],
	[
		"Catalog Error: Existing object orders is of type View, trying to replace with type Table",
		"TableIncompatible",
	],
])("%j is %s, with DuckDB's own words", (message, code) => {
	const failure = destinationFailure(
		new DuckDBRefusal(`${message}\nSee also …`),
		"a.duckdb",
		"/s",
	) as JobFailure;
	expect(failure.code).toBe(code);
	const [words = ""] = message.split("\n");
	expect(failure.message).toContain(
		`DuckDB file a.duckdb: ${words.replace(/[.]$/, "")}. `,
	);
});

test.each([
	[new DatabaseBusy("a.duckdb is in use"), "DestinationBusy"],
	[new PathOutside('"../a" leads out of the volume'), "PathOutsideVolume"],
])("%s is %s", (error, code) => {
	expect(destinationFailure(error, "a", "/s")).toMatchObject({ code });
});

test("a path below a file is named", () => {
	const error = Object.assign(new Error("EEXIST: file already exists, mkdir"), {
		code: "EEXIST",
	});
	expect(destinationFailure(error, "a.duckdb/b.duckdb", "/s")).toMatchObject({
		code: "DestinationNotWritable",
		message: expect.stringContaining(
			"DuckDB file a.duckdb/b.duckdb: its directory is a file. ",
		),
	});
});

test("an error of another cause stays unchanged", () => {
	const error = new TypeError("x is not a function");
	expect(destinationFailure(error, "a", "/s")).toBe(error);
	const failure = new JobFailure("ObjectMismatch", "Corrupt");
	expect(destinationFailure(failure, "a", "/s")).toBe(failure);
});

test.each([
	[
		"Constraint Error: NOT NULL constraint failed: t.x y.email",
		'rows by constraint "NOT NULL" in column "email" of table "t.x y" (DuckDB\'s Constraint Error)',
	],
	[
		"Constraint Error: CHECK constraint failed on table orders with expression CHECK((body != 'MARKED with expression '))",
		'rows by constraint "CHECK" in table "orders" (DuckDB\'s Constraint Error)',
	],
	[
		'Constraint Error: Duplicate key "email: MARKED" violates unique constraint. x" violates unique constraint.',
		'rows by constraint "unique" (DuckDB\'s Constraint Error)',
	],
	[
		'Constraint Error: PRIMARY KEY or UNIQUE constraint violation: duplicate key "MARKED"',
		'rows by constraint "PRIMARY KEY or UNIQUE" (DuckDB\'s Constraint Error)',
	],
	[
		'TransactionContext Error: Failed to commit: PRIMARY KEY or UNIQUE constraint violation: duplicate key "MARKED"',
		'rows by constraint "PRIMARY KEY or UNIQUE" (DuckDB\'s TransactionContext Error)',
	],
	[
		'Constraint Error: Violates foreign key constraint because key "id: MARKED" does not exist in the referenced table',
		'rows by constraint "foreign key" (DuckDB\'s Constraint Error)',
	],
	[
		"Conversion Error: Could not convert string 'MARKED' to INT32\n\nLINE 1: 'MARKED'",
		"rows (DuckDB's Conversion Error)",
	],
	[
		'Invalid Input Error: Malformed JSON at byte 1. Input: "MARKED No space left on device"',
		"rows (DuckDB's Invalid Input Error)",
	],
])("of %j nothing is told but names", (message, words) => {
	const failure = destinationFailure(
		new DuckDBRefusal(message),
		"a.duckdb",
		"/s",
	) as JobFailure;
	const isUnique = /unique/i.test(words);
	expect(failure.code).toBe(isUnique ? "RowsNotUnique" : "RowsRefused");
	expect(failure.what).toBe(`DuckDB file a.duckdb refuses ${words}.`);
	expect(failure.stack).not.toContain("MARKED");
});

test.each([
	"Binder Error: Could not choose 'MARKED'",
	'IO Error: Failure while replaying WAL file "/w/a.duckdb.wal": Constraint Error: Duplicate key "MARKED"',
	"MARKED",
])("%j stays DuckDB's, without its words", (message) => {
	const refusal = new DuckDBRefusal(message);
	expect(destinationFailure(refusal, "a.duckdb", "/s")).toBe(refusal);
	expect(refusal.stack + inspect(refusal)).not.toContain("MARKED");
});
