import { relative } from "node:path";

/** What this reads of vitest's JSON report. */
export interface VitestReport {
	numPassedTests: number;
	numFailedTests: number;
	numPendingTests: number;
	numTodoTests: number;
	testResults: {
		name: string;
		status: string;
		startTime: number;
		endTime: number;
		/** What failed outside the file's tests. */
		message: string;
		assertionResults: {
			status: string;
			fullName: string;
			failureMessages: string[];
		}[];
	}[];
}

/** How a lane ended: no exit code when it never ran, no report when it crashed. */
export interface LaneEnd {
	exitCode: number | null | undefined;
	report: VitestReport | undefined;
	/** What its files cost, by their names in the report. */
	cpuSecondsOf?: ReadonlyMap<string, number>;
}

export interface Total {
	passed: number;
	failed: number;
	skipped: number;
}

/** Adds lanes up. A lane that ended badly counts as one failure at least. */
export function sumUp(lanes: readonly LaneEnd[]): Total {
	const total = { passed: 0, failed: 0, skipped: 0 };
	for (const { report, exitCode } of lanes) {
		const failed = report ? failuresOf(report) : 0;
		total.failed += exitCode === 0 && report ? failed : Math.max(failed, 1);
		total.passed += report?.numPassedTests ?? 0;
		if (report) total.skipped += report.numPendingTests + report.numTodoTests;
	}
	return total;
}

/** A file that fails outside its tests (an import, a hook) counts as one failure. */
function failuresOf({ numFailedTests, testResults }: VitestReport): number {
	return numFailedTests + testResults.filter(failsOutside).length;
}

function failsOutside({
	status,
	assertionResults,
}: VitestReport["testResults"][number]): boolean {
	return isFailed({ status }) && !assertionResults.some(isFailed);
}

function isFailed({ status }: { status: string }): boolean {
	return status === "failed";
}

/** What failed, to be read at the end of a long output: the file, the test, and why, without the stack. */
export function failedTests(
	lanes: readonly (LaneEnd & { name: string })[],
): string[] {
	const unreported = lanes
		.filter(({ exitCode, report }) => exitCode !== undefined && !report)
		.map(
			({ name }) => `lane ${name}: it crashed, or was stopped after too long`,
		);
	const failed = lanes
		.flatMap(({ report }) => report?.testResults ?? [])
		.flatMap((file) => {
			const path = relative(process.cwd(), file.name);
			if (failsOutside(file)) return [`${path}: ${reasonOf(file.message)}`];
			return file.assertionResults
				.filter(isFailed)
				.map(
					({ fullName, failureMessages: [why = ""] }) =>
						`${path} > ${fullName}: ${reasonOf(why)}`,
				);
		});
	return [...unreported, ...failed];
}

/** A failed command's own words stand below the line that names it. Of a long text, the end is left out. */
function reasonOf(failure: string): string {
	const lines = failure.split("\n");
	const stack = lines.findIndex((line) => /^\s+at /.test(line));
	return lines
		.slice(0, stack === -1 ? undefined : stack)
		.map((line) => line.slice(0, 1_000))
		.slice(0, 40)
		.join("\n    ")
		.trimEnd();
}

/** The files that took longest, slowest first. */
export function slowestFiles(
	lanes: readonly LaneEnd[],
	count: number,
): { file: string; seconds: number; cpuSeconds: number | undefined }[] {
	return lanes
		.flatMap(({ report, cpuSecondsOf }) =>
			(report?.testResults ?? []).map(({ name, startTime, endTime }) => ({
				file: relative(process.cwd(), name),
				seconds: (endTime - startTime) / 1000,
				cpuSeconds: cpuSecondsOf?.get(name),
			})),
		)
		.sort((a, b) => b.seconds - a.seconds)
		.slice(0, count);
}

/** @param lines What cpu-reporter.ts writes: a file, a tab, and seconds. */
export function readCpuSeconds(lines: string): Map<string, number> {
	const costs = lines.split("\n").map((line) => line.split("\t"));
	return new Map(
		costs.map(([file = "", seconds]) => [file, Number(seconds)] as const),
	);
}

/**
 * CPU time of a process's children that have ended, with that of theirs, in seconds: cutime and cstime of its /proc/<pid>/stat, which count
 * hundredths (proc_pid_stat(5)). What nobody waited for, such as a browser's processes, isn't in it.
 */
export function endedChildrenSeconds(stat: string): number {
	const fields = fieldsFromState(stat);
	return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** The fields of a /proc/<pid>/stat from the third on. The name before them may have spaces and brackets. */
export function fieldsFromState(stat: string): string[] {
	return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
