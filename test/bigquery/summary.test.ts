import { expect, test } from "vitest";
import { firstPromise, type Report, summaryOf } from "./summary.ts";
import { isGoogle, type Trial } from "./trial.ts";

const now = new Date("2026-11-24T09:00:00Z");

const trial: Trial = {
	projectId: "my-project",
	dataset: "tidemill_test_1",
	location: "EU",
	endpoint: undefined,
	isGiven: false,
	stagingBucket: undefined,
	kmsKeyName: undefined,
};

function report(statuses: string[], message = ""): Report {
	const assertionResults = statuses.map((status, index) => ({
		title: `promise ${index}`,
		status,
		failureMessages: status === "failed" ? ["refused\n  at line 1"] : [],
	}));
	return { testResults: [{ message, assertionResults }] };
}

test.each([
	[undefined, true],
	["https://bigquery.googleapis.com", true],
	["https://bigquery-shop.p.googleapis.com", true],
	["http://127.0.0.1:9050", false],
	["https://googleapis.com.example.org", false],
	["https://notgoogleapis.com", false],
	["bigquery.googleapis.com", false],
])("an endpoint of %s is Google: %s", (endpoint, expected) => {
	expect(isGoogle({ ...trial, endpoint })).toBe(expected);
});

test("what Google answered is proved, line by line", () => {
	const { text, isProved } = summaryOf(
		trial,
		report(["passed", "failed", "pending"]),
		now,
	);
	expect(isProved).toBe(false);
	expect(text.split("\n")).toEqual([
		"Project my-project, 2026-11-24T09:00:00.000Z:",
		"",
		`  proved   ${firstPromise}`,
		"  proved   promise 0",
		"  FAILED   promise 1",
		"           refused",
		"  skipped  promise 2",
		"",
		"2 proved, 1 failed, 1 skipped",
	]);
});

test("what another answered is proved of nobody", () => {
	const endpoint = "http://127.0.0.1:9050";
	const { text, isProved } = summaryOf(
		{ ...trial, endpoint },
		report(["passed"]),
		now,
	);
	expect(isProved).toBe(true);
	expect(text).not.toMatch(/^ +proved/m);
	expect(text).toContain(
		"2 passed, 0 failed, 0 skipped\nNOT GOOGLE: http://127.0.0.1:9050 answered",
	);
});

test.each([
	["all are skipped", report(["pending", "pending"])],
	["there are none", report([])],
	["their file has an error", report(["passed"], "no such module")],
])("tests prove nothing if %s", (_, given) => {
	expect(summaryOf(trial, given, now).isProved).toBe(false);
});
