import { beforeEach, expect, test } from "vitest";
import {
	CommitterFixture,
	readFrame,
} from "../../../test/support/fixtures/committer-fixture.ts";
import { decodeFrame } from "../../wire/frame.ts";

let commit: CommitterFixture;

beforeEach(() => {
	commit = new CommitterFixture();
});

test("all requests of one turn of the event loop are one frame", () => {
	commit.add("a");
	commit.add("b");
	expect(commit.attempts).toHaveLength(0);
	commit.turn();
	expect(commit.attempts.map(readFrame)).toEqual([
		{ stream: "s1", process: 1, number: 1, voided: [], events: ["a", "b"] },
	]);
	expect(commit.answers).toEqual({});
});

test("events that arrive while a frame is in flight become the next frame", async () => {
	commit.add("a");
	commit.turn();
	commit.add("b");
	commit.turn();
	commit.add("c");
	commit.turn();
	expect(commit.attempts).toHaveLength(1);
	await commit.attempts[0]!.settle("stored");
	expect(commit.answers).toEqual({ a: "stored" });
	expect(readFrame(commit.attempts[1])).toMatchObject({
		number: 2,
		events: ["b", "c"],
	});
	await commit.attempts[1]!.settle("stored");
	expect(commit.answers).toEqual({ a: "stored", b: "stored", c: "stored" });
	expect(commit.held).toBe(0);
});

test("a frame holds no more bytes than allowed", async () => {
	for (const name of ["a", "b", "c"]) commit.add(name, 400);
	commit.turn();
	expect(commit.attempts[0]!.frame.data.length).toBeLessThanOrEqual(1_000);
	expect(readFrame(commit.attempts[0]).events).toEqual(["a", "b"]);
	await commit.attempts[0]!.settle("stored");
	expect(readFrame(commit.attempts[1]).events).toEqual(["c"]);
});

test.each([
	["no number", 0, 864],
	["a voided number", 1, 858],
])(
	"a frame that names %s is filled to its last byte",
	async (_, voided, bodyBytes) => {
		const frameOf = async (first: number, second: number) => {
			commit.add("a", first);
			commit.add("b", second);
			commit.turn();
			const attempt = commit.attempts.at(-1)!;
			const { events } = readFrame(attempt);
			await attempt.settle("stored");
			return { events, bytes: attempt.frame.data.length };
		};
		const refuse = async () => {
			commit.add("refused");
			commit.turn();
			await commit.attempts.at(-1)!.settle("refused");
		};
		if (voided) await refuse();
		expect(await frameOf(400, bodyBytes - 400)).toEqual({
			events: ["a", "b"],
			bytes: 1_000,
		});
		commit = new CommitterFixture();
		if (voided) await refuse();
		expect(await frameOf(400, bodyBytes - 399)).toMatchObject({
			events: ["a"],
		});
	},
);

test("an event that is larger than the usual frame has a frame of its own", async () => {
	for (const [name, size] of Object.entries({ a: 1, b: 5_000, c: 1 }))
		commit.add(name, size);
	commit.turn();
	for (let n = 0; n < 3; n++) await commit.attempts[n]?.settle("stored");
	expect(
		commit.attempts.map((attempt) => readFrame(attempt).events),
	).toContainEqual(["b"]);
	expect(commit.answers).toEqual({ a: "stored", b: "stored", c: "stored" });
});

test("a frame's bytes don't change until its publish is known to be over", async () => {
	commit.add("a");
	commit.turn();
	await commit.attempts[0]!.settle("unknown");
	commit.tickAfter(250);
	const { data } = commit.published[1]!;
	// The first publish may be on its way still.
	await commit.attempts[1]!.settle("stored");
	for (const name of ["b", "c"]) {
		commit.add(name);
		commit.turn();
		await commit.attempts.at(-1)!.settle("stored");
	}
	expect(decodeFrame(data).events[0]!.body.toString()).toBe("a");
	expect(commit.attempts.slice(2).map(readFrame)).toMatchObject([
		{ number: 2, events: ["b"] },
		{ number: 3, events: ["c"] },
	]);
	// Of those that were commit.published once the memory is used again.
	expect(commit.published[3]!.data.buffer).toBe(
		commit.published[2]!.data.buffer,
	);
});

test("another stream gets numbers from 1 under another process id, and no frame of the old stream", async () => {
	commit.add("a");
	commit.turn();
	await commit.attempts[0]!.settle("unknown");
	commit.committer.target("s2");
	commit.add("b");
	commit.tickAfter(250);
	expect(commit.answers).toEqual({ a: "unavailable" });
	expect(readFrame(commit.attempts[1])).toEqual({
		stream: "s2",
		process: 2,
		number: 1,
		voided: [],
		events: ["b"],
	});
});

test("the list of voided numbers is bounded, even if a stream refuses frames for hours", async () => {
	for (let i = 0; i < 1_001; i++) {
		commit.add(`e${i}`);
		commit.turn();
		await commit.attempts[i]!.settle("refused");
	}
	expect(readFrame(commit.attempts[999])).toMatchObject({
		process: 1,
		number: 1_000,
	});
	expect(readFrame(commit.attempts[1_000])).toMatchObject({
		process: 2,
		number: 1,
		voided: [],
	});
});

test("a frame has version 2 if one of its events has a key, and version 1 otherwise", async () => {
	commit.add("a");
	commit.add("b", 1, commit.now, "0f".repeat(16));
	commit.turn();
	expect(commit.attempts[0]!.frame.data[3]).toBe(2);
	expect(readFrame(commit.attempts[0]).events).toEqual(["a", "b"]);
	await commit.attempts[0]!.settle("stored");
	commit.add("c");
	commit.turn();
	expect(commit.attempts[1]!.frame.data[3]).toBe(1);
});

test("memory that a frame reuses isn't reused again before that frame is stored", async () => {
	commit.add("a");
	commit.turn();
	await commit.attempts[0]!.settle("stored");
	commit.add("b");
	commit.turn();
	const { data } = commit.published[1]!;
	expect(data.buffer).toBe(commit.published[0]!.data.buffer);
	// The client may still be sending the frame when it is given up.
	await commit.attempts[1]!.settle("unknown");
	commit.tickAfter(60_000);
	commit.add("c");
	commit.turn();
	expect(readFrame(commit.attempts[2]).events).toEqual(["c"]);
	expect(decodeFrame(data).events[0]!.body.toString()).toBe("b");
});

test("a refused frame's senders get a 503, and later frames name its number until one of them is stored", async () => {
	commit.add("a");
	commit.turn();
	await commit.attempts[0]!.settle("refused");
	expect(commit.answers).toEqual({ a: "unavailable" });
	commit.add("b");
	commit.turn();
	expect(readFrame(commit.attempts[1])).toMatchObject({
		number: 2,
		voided: [1],
	});
	await commit.attempts[1]!.settle("refused");
	commit.add("c");
	commit.turn();
	expect(readFrame(commit.attempts[2])).toMatchObject({
		number: 3,
		voided: [1, 2],
	});
	await commit.attempts[2]!.settle("stored");
	commit.add("d");
	commit.turn();
	expect(readFrame(commit.attempts[3])).toMatchObject({
		number: 4,
		voided: [],
	});
});
