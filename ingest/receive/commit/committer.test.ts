import { beforeEach, expect, test } from "vitest";
import {
	CommitterFixture,
	readFrame,
} from "../../../test/support/fixtures/committer-fixture.ts";

let commit: CommitterFixture;

beforeEach(() => {
	commit = new CommitterFixture();
});

test("a publish of unknown outcome is repeated with the same bytes and number", async () => {
	commit.add("a");
	commit.turn();
	await commit.attempts[0]!.settle("unknown");
	commit.add("b");
	commit.turn();
	commit.tickAfter(249);
	expect(commit.attempts).toHaveLength(1);
	commit.tickAfter(1);
	expect(commit.attempts[1]!.frame.data).toEqual(
		commit.attempts[0]!.frame.data,
	);
	expect(readFrame(commit.attempts[1])).toMatchObject({
		number: 1,
		events: ["a"],
	});
	expect(commit.answers).toEqual({});
	await commit.attempts[1]!.settle("stored");
	expect(commit.answers).toEqual({ a: "stored" });
	expect(readFrame(commit.attempts[2])).toMatchObject({
		number: 2,
		voided: [],
	});
});

test("a frame whose connection was lost is repeated as soon as the stream is there again", async () => {
	commit.add("a");
	commit.turn();
	commit.committer.target(undefined);
	await commit.attempts[0]!.settle("unknown");
	commit.tickAfter(100);
	expect(commit.attempts).toHaveLength(1);
	commit.committer.target("s1");
	expect(commit.attempts).toHaveLength(2);
	// It is the same stream that was inspected once more.
	await commit.attempts[1]!.settle("unknown");
	commit.committer.target("s1");
	expect(commit.attempts).toHaveLength(2);
});

test("a sender is answered within a second, while its frame is repeated up to 60 s after its receipt and then voided", async () => {
	commit.add("a");
	commit.turn();
	await commit.attempts.at(-1)!.settle("unknown");
	commit.tickAfter(799);
	expect(commit.answers).toEqual({});
	await commit.attempts.at(-1)!.settle("unknown");
	commit.tickAfter(1);
	expect(commit.answers).toEqual({ a: "unavailable" });
	expect(commit.held).toBe(1);

	commit.tickAfter(59_199);
	expect(commit.attempts).toHaveLength(3);
	await commit.attempts.at(-1)!.settle("unknown");
	commit.tickAfter(250);
	expect(commit.attempts).toHaveLength(3);
	expect(commit.held).toBe(0);
	commit.add("b");
	commit.turn();
	expect(readFrame(commit.attempts[3])).toMatchObject({
		number: 2,
		voided: [1],
	});
});

test("a frame that is stored after its senders got a 503 answers nobody twice", async () => {
	commit.add("a");
	commit.turn();
	commit.tickAfter(800);
	expect(commit.answers).toEqual({ a: "unavailable" });
	await commit.attempts[0]!.settle("stored");
	expect(commit.answers).toEqual({ a: "unavailable" });
	expect(commit.held).toBe(0);
});

test("only the senders who have waited long enough get a 503", async () => {
	commit.add("late");
	commit.add("waited before", undefined, commit.now - 9_500);
	commit.turn();
	commit.tickAfter(500);
	expect(commit.answers).toEqual({ "waited before": "unavailable" });
	expect(commit.held).toBe(2);
	await commit.attempts[0]!.settle("stored");
	expect(commit.answers).toEqual({
		"waited before": "unavailable",
		late: "stored",
	});
	expect(commit.held).toBe(0);
});

test("without a stream an event waits less than a second and never enters a frame", () => {
	commit.committer.target(undefined);
	commit.add("a");
	commit.turn();
	commit.tickAfter(600);
	commit.add("b");
	commit.tickAfter(199);
	expect(commit.answers).toEqual({});
	commit.tickAfter(1);
	expect(commit.answers).toEqual({ a: "unavailable" });
	commit.committer.target("s1");
	commit.turn();
	expect(commit.attempts.map(readFrame)).toMatchObject([
		{ number: 1, events: ["b"] },
	]);
});

test("an event behind a frame without an answer waits less than a second", async () => {
	commit.add("a");
	commit.turn();
	commit.tickAfter(500);
	commit.add("b");
	commit.tickAfter(799);
	expect(commit.answers).toEqual({ a: "unavailable" });
	commit.tickAfter(1);
	expect(commit.answers).toEqual({ a: "unavailable", b: "unavailable" });
	expect(commit.held).toBe(1);
	await commit.attempts[0]!.settle("stored");
	expect(commit.attempts).toHaveLength(1);
});

test("no sender is refused while frames are acknowledged, however slowly", async () => {
	commit.add("a");
	commit.turn();
	commit.add("b");
	commit.tickAfter(700);
	await commit.attempts[0]!.settle("stored");
	commit.tickAfter(700);
	expect(commit.answers).toEqual({ a: "stored" });
	await commit.attempts[1]!.settle("stored");
	expect(commit.answers).toEqual({ a: "stored", b: "stored" });
});

test("no frame is commit.published or repeated while the stream is away", async () => {
	commit.add("a");
	commit.turn();
	await commit.attempts[0]!.settle("unknown");
	commit.committer.target(undefined);
	commit.tickAfter(5_000);
	expect(commit.attempts).toHaveLength(1);
	commit.committer.target("s1");
	commit.tickAfter(0);
	expect(commit.attempts).toHaveLength(2);
});

test("an event is settled with its outcome, even late or if it was in no frame", async () => {
	commit.add("stored late");
	commit.turn();
	commit.add("never sent");
	commit.tickAfter(10_000);
	expect(commit.answers).toEqual({
		"stored late": "unavailable",
		"never sent": "unavailable",
	});
	expect(commit.settled).toEqual({ "never sent": "refused undefined" });
	await commit.attempts[0]!.settle("stored");
	expect(commit.settled["stored late"]).toBe("stored 1");
	commit.add("given up");
	commit.turn();
	await commit.attempts[1]!.settle("unknown");
	commit.tickAfter(60_000);
	expect(commit.settled["given up"]).toBe("unknown 2");
});

test.each([
	[59_999, "repeated"],
	[60_000, "given up"],
])("a frame whose oldest event is %d ms old is %s", async (ageMs, expected) => {
	// The oldest event needn't be the first one, and it waited before its frame was built.
	commit.add("young");
	commit.add("oldest", undefined, commit.now - 9_000);
	commit.add("older", undefined, commit.now - 5_000);
	commit.turn();
	commit.tickAfter(ageMs - 9_000 - 250);
	await commit.attempts[0]!.settle("unknown");
	commit.tickAfter(250);
	expect(commit.attempts).toHaveLength(expected === "repeated" ? 2 : 1);
	const outcome = expected === "repeated" ? undefined : "unknown 1";
	expect(commit.settled.oldest).toBe(outcome);
	expect(commit.settled.young).toBe(outcome);
});

test("while the clock may be wrong nothing is published, and what has a wrong time never is", async () => {
	commit.add("right");
	commit.dateAheadMs = -86_400_000;
	commit.add("wrong");
	commit.dateAheadMs = undefined;
	commit.turn();
	expect(commit.attempts).toHaveLength(0);
	commit.dateAheadMs = 0;
	commit.committer.target("s1");
	commit.turn();
	expect(commit.attempts.map(readFrame)).toMatchObject([{ events: ["right"] }]);
	expect(commit.answers).toEqual({ wrong: "unavailable" });
	await commit.attempts[0]!.settle("stored");
	expect(commit.settled).toEqual({
		wrong: "refused undefined",
		right: "stored 1",
	});
});

test("no frame is made of events that all have a wrong time", () => {
	commit.committer.target(undefined);
	commit.dateAheadMs = -86_400_000;
	commit.add("wrong");
	commit.dateAheadMs = 0;
	commit.committer.target("s1");
	commit.turn();
	expect(commit.attempts).toHaveLength(0);
	commit.add("right");
	commit.turn();
	expect(commit.attempts.map(readFrame)).toMatchObject([{ events: ["right"] }]);
});

test("the end of each frame is counted with its outcome, events, bytes and time", async () => {
	commit.add("a");
	commit.add("b");
	commit.turn();
	commit.now += 70;
	await commit.attempts[0]!.settle("stored");
	const bytes = commit.attempts[0]!.frame.data.length;
	expect(commit.finished).toEqual([
		{ outcome: "stored", events: 2, bytes, tookMs: 70 },
	]);
});

test("a frame isn't published again after the machine slept", async () => {
	commit.add("a");
	commit.turn();
	await commit.attempts[0]!.settle("unknown");
	commit.dateAheadMs = undefined;
	commit.tickAfter(1_000);
	expect(commit.attempts).toHaveLength(1);
	// The clock may turn out to be right.
	expect(commit.settled).toEqual({});
	commit.dateAheadMs = 3_600_000;
	commit.tickAfter(1_000);
	expect(commit.attempts).toHaveLength(1);
	expect(commit.settled).toEqual({ a: "unknown 1" });
});
