import { expect, test } from "vitest";
import { alarms } from "../ingest/archive/alarm.ts";
import { questionErrors } from "../ingest/archive/request/errors.ts";
import { jobErrors } from "../ingest/load/errors.ts";
import { refusals } from "../ingest/receive/refusal.ts";

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
		alarmsIntroduction,
		"| Code | What to do |",
		"| --- | --- |",
		...Object.entries(alarms).map(
			([code, advice]) => `| \`${code}\` | ${advice} |`,
		),
		"",
		acceptingLosses,
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

const alarmsIntroduction = `A shard that raises one is archived no further, and nothing of it is purged: what is in the stream stays there, and receive goes on
until the stream is full. It stands in the log, on \`/readyz\` and in the metric \`tidemill_archive_alarm\`; a Source's
\`status.shard\` says which shard it goes through. Archive looks again when it is started again, or when a loss is accepted.
`;

const acceptingLosses = `### Going on without what is lost

Senders were told that the events of these frames are stored, so first try to have them back. What to look at:

- the alarm's message: which numbers or sequences, and when they were due. Each is a frame of one to some thousand events.
- receive's log of that time, for the outcome of its publishes; NATS's log, for a disk that was full or failed, and for a restore.
- backups of the stream. To put one in its place, stop archive before.

When they can't be had back, a person who may answer for that accepts the loss. With archive's own settings, so most simply in its
container (\`kubectl exec\`):

\`\`\`console
$ tidemill shard losses
tidemill-frames-… frames-…-2-2
  found     …
  missing   1 frame, numbers 2 to 2 of receive process …
  accepted  no; the shard waits
$ tidemill shard accept-loss $STREAM $LOSS --by ada --reason 'its disk is gone, and no backup has it'
tidemill-frames-… frames-…-2-2: accepted … by ada: its disk is gone, and no backup has it
\`\`\`

The shard goes on within seconds. Who accepted what, when and why stays in the bucket, under \`losses/\`. Accepted is exactly
what the alarm named: another number, another sequence, or another stream raises the alarm anew, so frames whose sequences were accepted
may be found missing a second time, by their numbers. Should an accepted frame number come after all, it is archived as any other.

### Where nothing can be accepted

The other alarms don't know what is lost, so there is nothing to accept before something else is done. Stop archive for it. What NATS is asked
below are requests of JetStream's API, which NATS's own command-line tool and every client library make.

- \`FrameUnreadable\`: what came before the message is archived. If no version of archive can read it, it is damaged, or somebody else
  published it. Keep a copy (\`$JS.API.STREAM.MSG.GET.<stream>\` with \`{"seq": <sequence>}\`), purge the stream through it
  (\`$JS.API.STREAM.PURGE.<stream>\` with \`{"seq": <sequence + 1>}\`) and start archive. It now misses exactly this sequence
  (\`FramesMissing\`), and that can be accepted.
- \`StreamBehind\`, and \`CutMismatch\` after a restore: put a backup in place that reaches at least to the newest cut. If there is none, give the
  stream up: keep a copy of it (\`$JS.API.STREAM.SNAPSHOT.<stream>\`), delete it (\`$JS.API.STREAM.DELETE.<stream>\`), and start archive, which
  makes a new one. What the backup held is archived; should its newest cut not have been finished, a Run says \`ObjectMissing\`. What receive
  stored after the restore went with the stream. \`FrameGap\` names it, process by process, and it can be accepted. Only of a receive process
  that had ended before does nobody know: its log says what it published.
- \`CutMismatch\` where nobody touched the stream, and \`CutUnreadable\`: put back the cut record as it was written, from the bucket's older
  versions or a backup. Nothing else will do. Never delete or write one: its objects bear its number, so those of another cut in its place
  would be taken for written.
`;
