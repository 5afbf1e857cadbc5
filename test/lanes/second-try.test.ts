import { join } from "node:path";
import { expect, test } from "vitest";
import { sumUp, type VitestReport } from "./report.ts";
import { filesToTryAgain, withSecondTry } from "./second-try.ts";

const report = (files: Record<string, string[]>): VitestReport => {
	const testResults = Object.entries(files).map(([name, statuses]) => ({
		name: join(process.cwd(), name),
		status: statuses.includes("failed") ? "failed" : "passed",
		startTime: 0,
		endTime: 1,
		message: "",
		assertionResults: statuses.map((status) => ({
			status,
			fullName: "a test",
			failureMessages: [],
		})),
	}));
	const all = Object.values(files).flat();
	const count = (wanted: string) => all.filter((one) => one === wanted).length;
	return {
		numPassedTests: count("passed"),
		numFailedTests: count("failed"),
		numPendingTests: count("skipped"),
		numTodoTests: 0,
		testResults,
	};
};
const few = report({
	"a.test.ts": ["passed", "failed"],
	"b.test.ts": ["passed", "skipped"],
});

test("the files of a few failures are tried again", () => {
	const lane = { exitCode: 1, report: few };
	const green = { exitCode: 0, report: report({ "c.test.ts": ["passed"] }) };
	expect(filesToTryAgain([green, lane])).toEqual([
		{ lane, files: ["a.test.ts"] },
	]);
});

test("nothing is tried again where many files failed, or a lane left no report", () => {
	const many = report(
		Object.fromEntries(
			[1, 2, 3, 4].map((i) => [`${i}.test.ts`, ["failed"]] as const),
		),
	);
	expect(filesToTryAgain([{ exitCode: 1, report: many }])).toEqual([]);
	const crashed = { exitCode: 1, report: undefined };
	expect(filesToTryAgain([{ exitCode: 1, report: few }, crashed])).toEqual([]);
});

test.each([
	["passes", ["passed", "passed"], { passed: 3, failed: 0, skipped: 1 }],
	["fails again", ["passed", "failed"], { passed: 2, failed: 1, skipped: 1 }],
])(
	"a file whose second try %s counts once, by that try",
	(_, second, total) => {
		const merged = withSecondTry(few, report({ "a.test.ts": second }));
		expect(sumUp([{ exitCode: total.failed, report: merged }])).toEqual(total);
	},
);
