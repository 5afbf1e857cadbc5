import { expect, test } from "vitest";
import { type ErrorRule, waiting } from "../../contracts/error-rule.ts";
import { duckDBErrors } from "../duckdb/definition.ts";
import { warehouses } from "../registry.ts";
import { JobFailure, jobErrors } from "./failure.ts";

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
	/^(Columns|Links|Manifest|Object|Table|Rows|Plan|Event|Report|View|Superseded|JobCancelled)/;

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
