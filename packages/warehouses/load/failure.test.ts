import { expect, test } from "vitest";
import {
	checkAdvice,
	type JobErrorCode,
	JobFailure,
	jobErrors,
} from "./failure.ts";

test("a failure says what happened and what to do, with the exit code of its kind", () => {
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

test.each(["x", "x.", "x. \n"])("%j ends in one full stop", (what) => {
	expect(new JobFailure("Unexpected", what).message).toMatch(/^x\. [A-Z]/);
});

/** Only a load or an Operation reads objects and writes tables. */
const notOfChecks =
	/^(Links|Manifest|Object|Table|Rows|Plan|Event|Report|Superseded|JobCancelled)/;

test.each(
	(Object.keys(jobErrors) as JobErrorCode[]).filter(
		(code) => !notOfChecks.test(code),
	),
)("of a check, the advice of %s speaks of no Run", (code) => {
	const { message } = new JobFailure(code, "x").toJobError("check");
	expect(message).not.toMatch(
		/\b(new|next|later) Runs?\b|Pipeline|\b[Dd]ays?\b/,
	);
	expect(message).toContain(checkAdvice[code] ?? jobErrors[code].advice);
});
