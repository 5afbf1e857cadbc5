import { expect, test } from "vitest";
import { type ErrorRule, waiting } from "../../contracts/error-rule.ts";
import { duckDBErrors } from "../duckdb/definition.ts";
import { warehouses } from "../registry.ts";
import {
	JobFailure,
	jobErrors,
	loggedError,
	refusalWords,
	unexpectedFailure,
} from "./failure.ts";

test("a failure says what happened and what to do, with the exit code of its kind", () => {
	const busy = new JobFailure(
		"DestinationBusy",
		"w.duckdb is in use",
		undefined,
		duckDBErrors,
	);
	expect(busy.toJobError()).toEqual({
		code: "DestinationBusy",
		message:
			"w.duckdb is in use. Close the program that has the file open, then start a new Run.",
		retryable: true,
	});
	expect(busy.exitCode).toBe(75);
	expect(new JobFailure("TableIncompatible", "x").exitCode).toBe(65);
});

test("a failure that only time mends ends the Job at once, and a Run is told to wait", () => {
	const rules = { UsedUp: waiting("Wait.") };
	const failure = new JobFailure("UsedUp", "x", undefined, rules);
	expect(failure.exitCode).toBe(65);
	expect(failure.toJobError("load")).toMatchObject({
		retryable: true,
		waits: true,
	});
	expect(failure.toJobError("check")).not.toHaveProperty("waits");
});

test.each(["x", "x.", "x. \n"])("%j ends in one full stop", (what) => {
	expect(new JobFailure("Unexpected", what).message).toMatch(/^x\. [A-Z]/);
});

/** Only a load or an Operation reads objects and writes tables. */
const notOfChecks =
	/^(Columns|Day|Links|Manifest|Object|Table|Rows|Plan|Event|Report|View|Superseded|JobCancelled)/;

const tables = [
	jobErrors,
	...[...warehouses.values()].map(({ errors }) => errors),
];

test.each(
	tables.flatMap((rules) =>
		Object.keys(rules)
			.filter((code) => !notOfChecks.test(code))
			.map((code) => [code, rules] as const),
	),
)("of a check, the advice of %s speaks of no Run", (code, rules) => {
	const failure = new JobFailure<string>(code, "x", undefined, rules);
	const { message } = failure.toJobError("check");
	expect(message).not.toMatch(
		/\b(new|next|later) Runs?\b|Pipeline|\b[Dd]ays?\b/,
	);
	const { checkAdvice, advice } = (rules as Record<string, ErrorRule>)[code]!;
	expect(message).toContain(checkAdvice ?? advice);
});

const by = "Postgres at db:5432";

test("a refusal is told by names alone, each of them short and on one line", () => {
	const names = { constraint: "positive", column: "n", table: "orders" };
	expect(refusalWords({ by, code: "SQLSTATE 23514", ...names }, "rows")).toBe(
		'Postgres at db:5432 refuses rows by constraint "positive" in column "n" of table "orders" (SQLSTATE 23514)',
	);
	expect(refusalWords({ by, code: "SQLSTATE 22P02" }, "rows")).toBe(
		"Postgres at db:5432 refuses rows (SQLSTATE 22P02)",
	);
	const long = refusalWords({
		by,
		code: "x".repeat(999),
		table: "\u001bé\n".repeat(999),
	});
	expect(Buffer.byteLength(long)).toBeLessThan(500);
	expect(long).not.toMatch(/\p{Cc}/u);
});

test("words that quote nothing are told as they are, on one line of at most 1 KiB", () => {
	const words = "a\n\u001b[31mb";
	expect(refusalWords({ by, code: "X", words, table: "t" })).toBe(
		"Postgres at db:5432 says: a [31mb (X)",
	);
	const long = refusalWords({ by: "", code: "X", words: "é".repeat(2_000) });
	expect(Buffer.byteLength(long)).toBeLessThanOrEqual(1_040);
});

test("a log has an error's type, code and places, and not a word of it", () => {
	const cause = new SyntaxError('"MARKED\n    at MARKED" is no JSON');
	const error = Object.assign(new Error("MARKED\nMARKED", { cause }), {
		code: "22P02",
		detail: "MARKED",
		where: "MARKED",
	});
	const logged = loggedError(error);
	expect(JSON.stringify(logged)).not.toContain("MARKED");
	expect(logged).toMatchObject({
		type: "Error",
		code: "22P02",
		stack: expect.stringMatching(/^at .*failure\.test\.ts/),
		cause: { type: "SyntaxError", stack: expect.stringMatching(/^at /) },
	});
	// Whose first words aren't in the stack, so that nobody knows where they end.
	expect(loggedError(Object.assign(error, { message: "ARKED" }))).toEqual({
		type: "Error",
		code: "22P02",
		cause: expect.anything(),
	});
	expect(loggedError(undefined)).toBeUndefined();
});

test("an error that nobody expected is told by its type and its place", () => {
	const error = new SyntaxError('"MARKED" is no JSON');
	expect(unexpectedFailure(error).message).toMatch(
		/^An error that nobody expected: SyntaxError, at failure\.test\.ts:\d+\. If it/,
	);
	expect(unexpectedFailure("MARKED").message).not.toContain("MARKED");
});
