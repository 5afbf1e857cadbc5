import { isGoogle, type Trial } from "./trial.ts";

/** Vitest's report as JSON, as far as it counts here. */
export interface Report {
	testResults: {
		message: string;
		assertionResults: Outcome[];
	}[];
}

/** Of one promise. */
interface Outcome {
	title: string;
	status: string;
	failureMessages: string[];
}

/** What the check of a Destination has done before the other promises were tested. */
export const firstPromise =
	"the dataset is created, and a Destination's check passes";

/** Each promise and what became of it. */
export function summaryOf(
	trial: Trial,
	report: Report,
	now: Date,
): { text: string; isProved: boolean } {
	const { projectId, endpoint } = trial;
	const first = { title: firstPromise, status: "passed", failureMessages: [] };
	const promises: Outcome[] = [
		first,
		...report.testResults.flatMap(({ assertionResults }) => assertionResults),
	];
	// Nobody shall take an emulator's word for BigQuery's.
	const passed = isGoogle(trial) ? "proved" : "passed";
	const words: Record<string, string> = { passed, failed: "FAILED" };
	const count = (status: string) =>
		promises.filter((promise) => promise.status === status).length;
	const skipped = promises.length - count("passed") - count("failed");
	const errors = report.testResults.flatMap(({ message }) => message || []);
	const lines = [
		`Project ${projectId}, ${now.toISOString()}:`,
		"",
		...promises.flatMap(({ title, status, failureMessages }) => [
			`  ${(words[status] ?? "skipped").padEnd(8)} ${title}`,
			...failureMessages.map(
				(message) => `           ${message.split("\n")[0]}`,
			),
		]),
		"",
		`${count("passed")} ${passed}, ${count("failed")} failed, ${skipped} skipped`,
		...errors,
		...(isGoogle(trial)
			? []
			: [
					`NOT GOOGLE: ${endpoint} answered, so none of this is proved of BigQuery itself.`,
				]),
	];
	return {
		text: lines.join("\n"),
		// Were no test found, the check alone would prove little.
		isProved: count("passed") > 1 && count("failed") + errors.length === 0,
	};
}
