import { expect, test } from "vitest";
import {
	type Claimed,
	claimed,
	claimMs,
	type IdempotencyEntry,
	onRefused,
	onStored,
	reactionTo,
	type ShardProgress,
} from "./idempotency-entry.ts";

const times = { nowMs: 1_000, windowMs: 600_000 };
const claim: Claimed = claimed("event", "mine", times);
const released: IdempotencyEntry = {
	state: "released",
	event: "event",
	expiresAtMs: 601_000,
};
const stored: IdempotencyEntry = { ...released, state: "stored", frame: "p.1" };

const afterDeadline = claim.deadlineMs + 1;
/** The stream is empty, but for what is said of it. */
const far = { firstStoredAtMs: Number.NaN };

test.each<[string, IdempotencyEntry, ShardProgress | undefined, string]>([
	["a stored event", stored, undefined, "repeat"],
	["an event that isn't stored", released, undefined, "take over"],
	["a claim", claim, undefined, "wait"],
	[
		"a claim at its deadline",
		claim,
		{ ...far, nowMs: claim.deadlineMs, lastSequence: 7, objectsDone: 7 },
		"wait",
	],
	[
		"a claim past its deadline, with a frame that archive hasn't seen",
		claim,
		{ ...far, nowMs: afterDeadline, lastSequence: 7, objectsDone: 6 },
		"wait",
	],
	[
		"a claim past its deadline, with all frames seen",
		claim,
		{ ...far, nowMs: afterDeadline, lastSequence: 7, objectsDone: 7 },
		"take over",
	],
	[
		"a claim past its deadline, with none but later frames to be seen",
		claim,
		{
			nowMs: afterDeadline,
			lastSequence: 7,
			firstStoredAtMs: afterDeadline,
			objectsDone: 5,
		},
		"take over",
	],
	[
		"a claim past its deadline, with a frame of that very moment to be seen",
		claim,
		{
			nowMs: afterDeadline,
			lastSequence: 7,
			firstStoredAtMs: claim.deadlineMs,
			objectsDone: 5,
		},
		"wait",
	],
	[
		"a claim on a stream that was made anew",
		claim,
		{ ...far, nowMs: afterDeadline, lastSequence: 0, objectsDone: 0 },
		"take over",
	],
	[
		"a server that doesn't tell its time",
		claim,
		{ ...far, nowMs: Number.NaN, lastSequence: 0, objectsDone: 0 },
		"wait",
	],
])("%s", (_, entry, progress, expected) => {
	expect(reactionTo(entry, progress)).toBe(expected);
});

test("a claim has its deadline after all that its claimant may publish, and ends with the first one's window", () => {
	expect(claim).toEqual({
		state: "claimed",
		event: "event",
		claim: "mine",
		expiresAtMs: 601_000,
		deadlineMs: 1_000 + claimMs,
	});
	const later = { nowMs: 500_000, windowMs: 600_000 };
	expect(claimed("other", "theirs", later, released)).toEqual({
		state: "claimed",
		event: "event",
		claim: "theirs",
		expiresAtMs: 601_000,
		deadlineMs: 500_000 + claimMs,
	});
});

test.each<[string, IdempotencyEntry | undefined, unknown]>([
	["no entry", undefined, "keep"],
	["another event's entry", { ...stored, event: "other" }, "keep"],
	["its own claim", claim, stored],
	["a claim that was given back", released, stored],
	["its entry", stored, "keep"],
	["the entry of another frame", { ...stored, frame: "q.1" }, "drop"],
])("an event found in the stream, with %s", (_, entry, expected) => {
	expect(onStored(entry, "event", "p.1")).toEqual(expected);
});

test.each<[string, IdempotencyEntry | undefined, unknown]>([
	["its claim", claim, released],
	["another's claim", { ...claim, claim: "theirs" }, undefined],
	["a stored event", stored, undefined],
	["no entry", undefined, undefined],
])("an event that isn't stored, with %s", (_, entry, expected) => {
	expect(onRefused(entry, "mine")).toEqual(expected);
});
