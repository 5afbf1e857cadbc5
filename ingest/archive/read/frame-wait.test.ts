import { expect, test } from "vitest";
import type { UncutFrames } from "./frame-queue.ts";
import { cutDueInMs } from "./frame-wait.ts";

const limits = { maxBytes: 100, maxAgeMs: 1000 };
const uncut: UncutFrames = {
	frames: 1,
	bytes: 10,
	sinceMs: 0,
	lastSequence: 7,
};

test.each<[string, Partial<UncutFrames>, number, number, number]>([
	[
		"nothing to cut waits",
		{ frames: 0, bytes: 0, sinceMs: NaN },
		0,
		0,
		Infinity,
	],
	[
		"nothing to cut waits, also when asked",
		{ frames: 0, bytes: 0 },
		9,
		0,
		Infinity,
	],
	["young and small waits for its age", {}, 0, 400, 600],
	["old is due", {}, 0, 1000, 0],
	["overdue is due", {}, 0, 5000, 0],
	["large is due", { bytes: 100 }, 0, 0, 0],
	["all that was asked for is due", {}, 7, 0, 0],
	["what was asked for isn't read yet", {}, 8, 400, 600],
])("%s", (_, more, flushThrough, now, due) => {
	expect(cutDueInMs({ ...uncut, ...more }, limits, flushThrough, now)).toBe(
		due,
	);
});
