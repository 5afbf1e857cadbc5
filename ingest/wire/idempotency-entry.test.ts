import { expect, test } from "vitest";
import {
	type ClaimedEntry,
	claimed,
	claimMs,
	type IdempotencyEntry,
	onRefused,
	onStored,
	reactionTo,
	type ShardProgress,
} from "./idempotency-entry.ts";

const times = { nowMs: 1_000, windowMs: 600_000, shard: 3 };
const claim: ClaimedEntry = claimed("event", "mine", times);
const released: IdempotencyEntry = {
	state: "released",
	event: "event",
	expiresAtMs: 601_000,
};
const stored: IdempotencyEntry = { ...released, state: "stored", frame: "p.1" };

const afterDeadline = claim.deadlineMs + 1;
/** An empty stream, except for what a case adds. */
const far = { firstStoredAtMs: Number.NaN };

test.each<[string, IdempotencyEntry, ShardProgress | undefined, string]>([
	["a stored event", stored, undefined, "repeat"],
	["a released event", released, undefined, "take over"],
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
		"a claim past its deadline, with only later frames unseen",
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
		"a claim past its deadline, with a frame of that very moment unseen",
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
		"a claim on a recreated stream",
		claim,
		{ ...far, nowMs: afterDeadline, lastSequence: 0, objectsDone: 0 },
		"take over",
	],
	[
		"a server that doesn't report its time",
		claim,
		{ ...far, nowMs: Number.NaN, lastSequence: 0, objectsDone: 0 },
		"wait",
	],
])("%s", (_, entry, progress, expected) => {
	expect(reactionTo(entry, progress)).toBe(expected);
});

test("a claim's deadline is claimMs after it, and its window is that of the key's first claim", () => {
	expect(claim).toEqual({
		state: "claimed",
		event: "event",
		claim: "mine",
		expiresAtMs: 601_000,
		deadlineMs: 1_000 + claimMs,
		shard: 3,
	});
	const later = { nowMs: 500_000, windowMs: 600_000, shard: 4 };
	expect(claimed("other", "theirs", later, released)).toEqual({
		state: "claimed",
		event: "event",
		claim: "theirs",
		expiresAtMs: 601_000,
		deadlineMs: 500_000 + claimMs,
		shard: 4,
	});
});

test.each<[string, IdempotencyEntry | undefined, unknown]>([
	["no entry", undefined, "keep"],
	["another event's entry", { ...stored, event: "other" }, "keep"],
	["its own claim", claim, stored],
	["a released claim", released, stored],
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
