import { readFileSync } from "node:fs";

/** One changed expression that no test noticed. */
export interface Survivor {
	file: string;
	line: number;
	original: string;
	replacement: string;
	/** The file's whole text with the replacement. */
	text: string;
}

/** The survivors in Stryker's JSON report (https://github.com/stryker-mutator/mutation-testing-elements, its schema). */
export function readSurvivors(reportFile: string): Survivor[] {
	const report = JSON.parse(readFileSync(reportFile, "utf8")) as Report;
	return Object.entries(report.files).flatMap(([file, { source, mutants }]) =>
		mutants
			.filter(({ status }) => status === "Survived" || status === "NoCoverage")
			.map(({ location, replacement }) => {
				const start = offsetOf(source, location.start);
				const end = offsetOf(source, location.end);
				return {
					file,
					line: location.start.line,
					original: source.slice(start, end),
					replacement,
					text: source.slice(0, start) + replacement + source.slice(end),
				};
			}),
	);
}

interface Report {
	files: Record<
		string,
		{
			source: string;
			mutants: {
				status: string;
				replacement: string;
				location: { start: Position; end: Position };
			}[];
		}
	>;
}

/** Both count from 1. */
interface Position {
	line: number;
	column: number;
}

function offsetOf(source: string, { line, column }: Position): number {
	const lines = source.split("\n").slice(0, line - 1);
	return lines.reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
}
