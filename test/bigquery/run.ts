import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/* `make test-bigquery`: tests a real project of BigQuery, and says what that proved (docs/bigquery.md). */
const { TIDEMILL_BIGQUERY_PROJECT: project } = process.env;
if (!project) {
	console.error(`NOTHING WAS TESTED, and nothing is proved: there is no project of BigQuery to test.

  gcloud auth application-default login
  make test-bigquery TIDEMILL_BIGQUERY_PROJECT=my-project

docs/bigquery.md says what it needs and what else it can test.`);
	process.exit(1);
}

const folder = mkdtempSync(join(tmpdir(), "tidemill-bigquery-"));
try {
	const report = join(folder, "report.json");
	spawnSync(
		process.execPath,
		[
			join(import.meta.dirname, "../../node_modules/vitest/vitest.mjs"),
			"run",
			"--project=data-plane",
			"test/data-plane/bigquery-real.test.ts",
		],
		{ stdio: "inherit", env: { ...process.env, TEST_REPORT: report } },
	);
	process.exitCode = tell(report);
} finally {
	rmSync(folder, { recursive: true, force: true });
}

interface Report {
	testResults: {
		message: string;
		assertionResults: {
			title: string;
			status: string;
			failureMessages: string[];
		}[];
	}[];
}

/** Prints each promise and what became of it. Returns the exit code. */
function tell(report: string): number {
	const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
	const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
	const words: Record<string, string> = {
		passed: "proved ",
		failed: "FAILED ",
	};
	console.log(`\nProject ${project}, ${new Date().toISOString()}:\n`);
	for (const { title, status, failureMessages } of tests) {
		console.log(`  ${words[status] ?? "skipped"}  ${title}`);
		for (const message of failureMessages)
			console.log(`           ${message.split("\n")[0]}`);
	}
	const count = (status: string) =>
		tests.filter((test) => test.status === status).length;
	const skipped = tests.length - count("passed") - count("failed");
	console.log(
		`\n${count("passed")} proved, ${count("failed")} failed, ${skipped} skipped`,
	);
	for (const { message } of testResults) if (message) console.log(message);
	return count("passed") > 0 && count("failed") === 0 ? 0 : 1;
}
