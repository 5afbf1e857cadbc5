import { expect, test } from "vitest";
import { jobErrors } from "../ingest/load/errors.ts";
import {
	bigQueryErrors,
	refusalOf,
	wordsOfPipeline,
} from "../test/support/examples/bigquery-errors.ts";

test("docs/reference/bigquery-errors.md has every reason, and what the Pipeline then says", async () => {
	await expect(page()).toMatchFileSnapshot(
		"../docs/reference/bigquery-errors.md",
	);
});

test.each(bigQueryErrors)(
	"$reason: the Pipeline says the reason, BigQuery's own words and what to do",
	(error) => {
		const words = wordsOfPipeline(error, "orders-1");
		expect(words).toContain(`(${error.reason}): ${error.message}. `);
		expect(words.endsWith(jobErrors[refusalOf(error).code].advice)).toBe(true);
	},
);

function page(): string {
	return [
		introduction,
		...bigQueryErrors.flatMap((error) => {
			const { code, isTransient } = refusalOf(error);
			const { status, reason } = error;
			const where = status === 0 ? "a job ends so" : `HTTP ${status}`;
			const again = isTransient
				? "load itself tries it again, several times"
				: jobErrors[code].retryable
					? "the Job's next Pod tries it again"
					: "not tried again";
			return [
				`## ${reason}\n`,
				`${where}; \`${code}\`; ${again}.\n`,
				"```",
				wordsOfPipeline(error, "orders-1"),
				"```\n",
			];
		}),
	].join("\n");
}

const introduction = `# BigQuery's reasons

<!-- Written by "npm run unit -- test/bigquery-errors-page -u" from what load and operator do. -->

Each reason that BigQuery [documents](https://cloud.google.com/bigquery/docs/error-messages), in the example of a table \`orders\`:
where a load meets it, the code in \`status.error\` of the Run, and what \`kubectl describe pipeline\` then shows as the message of
the condition \`RunSucceeded\`.
`;
