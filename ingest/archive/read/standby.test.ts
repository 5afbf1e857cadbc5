import { expect, test } from "vitest";
import { graceMs, isAbandoned, withOldest } from "./standby.ts";

const maxAgeMs = 60_000;

/** Looks at the oldest frame, one a second, and says at which look the shard counts as abandoned. */
function abandonedAt(sequences: (number | undefined)[]): number {
	let oldest: ReturnType<typeof withOldest> | undefined;
	return sequences.findIndex((sequence, second) => {
		oldest = withOldest(oldest, sequence, second * 1000);
		return isAbandoned(oldest, maxAgeMs, second * 1000);
	});
}

const limit = (maxAgeMs + graceMs) / 1000;

test("the shard is abandoned if a frame stays the oldest for longer than its age limit", () => {
	expect(abandonedAt(Array(100).fill(7))).toBe(limit + 1);
});

test("the limit counts from the frame's arrival, not from when the stream was empty", () => {
	expect(
		abandonedAt([...Array(50).fill(undefined), ...Array(100).fill(7)]),
	).toBe(50 + limit + 1);
});

test.each([
	["an empty stream", Array(1000).fill(undefined)],
	["a backlog that moves", Array.from({ length: 1000 }, (_, at) => 1 + at)],
	[
		"one event an hour, archived in time",
		Array.from({ length: 7200 }, (_, at) =>
			at % 3600 < limit ? 1 + Math.floor(at / 3600) : undefined,
		),
	],
])("the shard isn't abandoned with %s", (_, sequences) => {
	expect(abandonedAt(sequences)).toBe(-1);
});
