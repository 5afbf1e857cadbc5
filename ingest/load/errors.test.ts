import { expect, test } from "vitest";
import { destinationFailure } from "./duckdb/failure.ts";
import { JobFailure } from "./errors.ts";

test("a failure says what happened and what to do, with the exit code that its kind has", () => {
	const busy = new JobFailure("DestinationBusy", "w.duckdb is in use");
	expect(busy.toJobError()).toEqual({
		code: "DestinationBusy",
		message:
			"w.duckdb is in use. Close the program that has the file open, then start a new Run.",
		retryable: true,
	});
	expect(busy.exitCode).toBe(75);
	expect(new JobFailure("TableIncompatible", "x").exitCode).toBe(65);
});

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
])("%j is %s, with DuckDB's own words", (message, code) => {
	const failure = destinationFailure(
		new Error(`${message}\nSee also …`),
		"a.duckdb",
		"/s",
	) as JobFailure;
	expect(failure.code).toBe(code);
	expect(failure.message).toContain(message);
});

test("what isn't the destination's fault stays what it is", () => {
	const error = new TypeError("x is not a function");
	expect(destinationFailure(error, "a", "/s")).toBe(error);
});
