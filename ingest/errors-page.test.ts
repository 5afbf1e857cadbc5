import { expect, test } from "vitest";
import { alarms } from "./archive/alarm.ts";
import { questionErrors } from "./archive/question-errors.ts";
import { jobErrors } from "./load/errors.ts";
import { refusals } from "./receive/refusal.ts";

test("docs/reference/errors.md has every error, with what to do", async () => {
	await expect(page()).toMatchFileSnapshot("../docs/reference/errors.md");
});

function page(): string {
	return [
		introduction,
		"## Answers to webhooks\n",
		"| Status | Code | Message |",
		"| --- | --- | --- |",
		...Object.values(refusals).map(
			({ status, code, message }) => `| ${status} | \`${code}\` | ${message} |`,
		),
		"",
		"## Runs, before their Job starts\n",
		...table(questionErrors),
		"## Runs and checks of Destinations, in their Job\n",
		...table(jobErrors),
		"## Alarms of archive\n",
		"A shard that raises one is archived no further, and nothing of it is purged, until archive is started again and finds it",
		"resolved. It stands in the log, on `/readyz` and in the metric `tidemill_archive_alarm`.\n",
		"| Code | What to do |",
		"| --- | --- |",
		...Object.entries(alarms).map(
			([code, advice]) => `| \`${code}\` | ${advice} |`,
		),
		"",
	].join("\n");
}

function table(
	errors: Record<string, { retryable: boolean; advice: string }>,
): string[] {
	return [
		"| Code | Tried again | What to do |",
		"| --- | --- | --- |",
		...Object.entries(errors).map(
			([code, { retryable, advice }]) =>
				`| \`${code}\` | ${retryable ? "yes" : "no"} | ${advice} |`,
		),
		"",
	];
}

const introduction = `# Errors

<!-- Written from the tables in ingest/ by "npm run unit -- ingest/errors-page -u". Change those instead. -->

What went wrong stands in \`status.error\` of a Run (\`code\`, \`message\`, \`retryable\`), in the message of a Destination's \`Ready\`
condition, and in the answer to a webhook. The message says what happened, to what, and what to do next; a code never changes
its name.
`;
