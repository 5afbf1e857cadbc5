import { relative } from "node:path";
import type { LaneEnd, VitestReport } from "./report.ts";

/** More files than these fail for a reason, not by the noise of a machine. */
const mostFiles = 3;

/**
 * The files whose tests get a second try, alone, by lane. Only CI asks: thousands of tests that wait for servers share few cores there, and a
 * deadline that passes once says little. None if many failed, or if a lane ended without a report.
 */
export function filesToTryAgain<L extends LaneEnd>(
	lanes: readonly L[],
): { lane: L; files: string[] }[] {
	if (lanes.some(({ report }) => !report)) return [];
	const failed = lanes
		.map((lane) => ({
			lane,
			files: lane
				.report!.testResults.filter(({ status }) => status === "failed")
				.map(({ name }) => relative(process.cwd(), name)),
		}))
		.filter(({ files }) => files.length > 0);
	const count = failed.reduce((sum, { files }) => sum + files.length, 0);
	return count > mostFiles ? [] : failed;
}

/** A lane's report in which the files that were tried again have the results of their second try. */
export function withSecondTry(
	first: VitestReport,
	second: VitestReport,
): VitestReport {
	const again = new Map(second.testResults.map((file) => [file.name, file]));
	const testResults = first.testResults.map(
		(file) => again.get(file.name) ?? file,
	);
	const count = (status: string) =>
		testResults
			.flatMap(({ assertionResults }) => assertionResults)
			.filter((each) => each.status === status).length;
	return {
		...first,
		testResults,
		numPassedTests: count("passed"),
		numFailedTests: count("failed"),
	};
}
