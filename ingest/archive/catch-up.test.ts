import { pino } from "pino";
import { expect, test } from "vitest";
import { reportLosses } from "./catch-up.ts";
import type { CutRecord } from "./decide/cut.ts";
import type { Loss } from "./decide/loss.ts";

test("each loss is an alarm in the log, which says what is missing and that archive goes on", () => {
	const lines: string[] = [];
	const log = pino({}, { write: (line: string) => void lines.push(line) });
	const time = "2026-03-01T12:00:00Z";
	const losses: Loss[] = [
		{ kind: "sequences", from: 4, to: 9, time },
		{ kind: "frames", process: "a1", from: 2, to: 2, time },
	];
	reportLosses(3, { stream: "s", losses } as CutRecord, log);
	expect(lines.map((line) => JSON.parse(line))).toMatchObject([
		{
			level: 50,
			shard: 3,
			msg: expect.stringMatching(/^ALARM: stream s: .*4 to 9.*goes on/),
		},
		{
			level: 50,
			shard: 3,
			msg: expect.stringMatching(/^ALARM: stream s: .*2 to 2.*goes on/),
		},
	]);
});
