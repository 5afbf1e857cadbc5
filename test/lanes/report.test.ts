import { expect, test } from "vitest";
import {
	endedChildrenSeconds,
	failedTests,
	slowestFiles,
	sumUp,
	type VitestReport,
} from "./report.ts";

const report = (change: Partial<VitestReport> = {}): VitestReport => ({
	numPassedTests: 3,
	numFailedTests: 0,
	numPendingTests: 0,
	numTodoTests: 0,
	testResults: [],
	...change,
});
const file = (status: string, tests: string[]) => ({
	name: "/a.test.ts",
	status,
	startTime: 1_000,
	endTime: 3_500,
	message: "",
	assertionResults: tests.map((each) => ({
		status: each,
		fullName: "a test",
		failureMessages:
			each === "failed"
				? ["Error: not so\nkubectl is away\n    at file:///a.ts:3:1"]
				: [],
	})),
});

test("lanes add up", () => {
	const pending = report({ numFailedTests: 1, numPendingTests: 2 });
	expect(
		sumUp([
			{ exitCode: 0, report: report() },
			{ exitCode: 1, report: pending },
		]),
	).toEqual({ passed: 6, failed: 1, skipped: 2 });
});

test.each([
	["crashes before it reports", 1, undefined],
	["is killed", null, undefined],
	["is never run", undefined, undefined],
	["says 0 and leaves no report", 0, undefined],
	["fails outside of any test", 1, report()],
	["is killed after its report", null, report()],
])("a lane that %s is a failure", (_, exitCode, left) => {
	expect(sumUp([{ exitCode, report: left }]).failed).toBe(1);
});

test("a file that fails outside its tests is one failure", () => {
	const testResults = [
		file("failed", []),
		file("failed", ["failed", "passed"]),
		file("passed", ["passed"]),
	];
	const left = report({ numFailedTests: 1, testResults });
	expect(sumUp([{ exitCode: 1, report: left }]).failed).toBe(2);
});

test("each failure is told whole, without its stack", () => {
	const testResults = [
		{ ...file("failed", []), message: "No such module" },
		file("failed", ["failed", "passed"]),
		file("passed", ["passed"]),
	];
	const told = failedTests([
		{ name: "room", exitCode: 1, report: report({ testResults }) },
		{ name: "stuck", exitCode: null, report: undefined },
		{ name: "later", exitCode: undefined, report: undefined },
	]);
	expect(told).toEqual([
		"lane stuck: it crashed, or was stopped after too long",
		expect.stringMatching(/a\.test\.ts: No such module$/),
		expect.stringMatching(
			/a\.test\.ts > a test: Error: not so\n {4}kubectl is away$/,
		),
	]);
});

test("the slowest files come first", () => {
	const slow = { ...file("passed", []), name: "/slow.test.ts", endTime: 9_000 };
	const left = report({ testResults: [file("passed", []), slow] });
	const [first, ...others] = slowestFiles([{ exitCode: 0, report: left }], 1);
	expect(first?.file).toMatch(/slow\.test\.ts$/);
	expect(first?.seconds).toBe(8);
	expect(others).toEqual([]);
});

test("the CPU time of children is found behind a name with spaces and brackets", () => {
	const stat =
		"17 (a) b (c) R 1 17 9 0 -1 4194304 2847 6522 0 0 11 22 300 45 20 0 1 0 6504304";
	expect(endedChildrenSeconds(stat)).toBe(3.45);
});
