import { expect, test } from "vitest";
import { CommitterFixture } from "../../../test/support/fixtures/committer-fixture.ts";
import { readLeft } from "../../wire/left-frames.ts";
import { LeftStreams, StoredNumbers } from "./left-frames.ts";

const process = "ab".repeat(16);

/** Stores these numbers, each at the sequence ten above it, at its own time. */
function storedNumbers(...numbers: number[]): StoredNumbers {
	const known = new StoredNumbers("s1", process);
	for (const number of numbers) known.stored(number, number + 10, number);
	return known;
}

test("what archive hasn't taken is told, without the numbers that were given up", () => {
	const known = storedNumbers(1, 2, 3);
	known.void(4);
	known.stored(5, 15, 5);
	known.void(6);
	expect(known.left()).toEqual([
		{
			...{ stream: "s1", process, lastSequence: 15 },
			...{ sinceMs: 1, untilMs: 5 },
			ranges: [
				[1, 3],
				[5, 5],
			],
		},
	]);
});

test("numbers count as taken once the stream begins behind them, as of a look at it", () => {
	const known = storedNumbers(1, 2);
	known.inspected(11, 0);
	known.void(3);
	known.stored(4, 14, 4);
	known.inspected(12, 0);
	// The place of number 1 isn't known, and archive tells what it has.
	expect(known.left()).toMatchObject([
		{
			sinceMs: 1,
			ranges: [
				[1, 2],
				[4, 4],
			],
		},
	]);
	known.inspected(13, 0);
	expect(known.left()).toMatchObject([{ sinceMs: 2, ranges: [[4, 4]] }]);
	expect(known.voided).toBe(1);
	known.inspected(15, 0);
	expect(known.left()).toMatchObject([{ sinceMs: 4, ranges: [] }]);
	expect(known.voided).toBe(0);
});

test("an archive that is away for days costs no memory, and no number", () => {
	const known = new StoredNumbers("s1", process);
	for (let number = 1; number <= 5_000; number++) {
		known.stored(number, number, number);
		known.inspected(1, 0);
	}
	expect(known.left()).toMatchObject([{ ranges: [[1, 5_000]] }]);
	known.inspected(4_500, 0);
	expect(known.left()).toMatchObject([{ ranges: [[4_500, 5_000]] }]);
});

test("a stream in which nothing was stored isn't told of", () => {
	const known = new StoredNumbers("s1", process);
	known.void(1);
	expect(known.left()).toEqual([]);
});

test("many numbers that were given up make several values, a few in each frame", () => {
	const known = new StoredNumbers("s1", process);
	for (let number = 1; number <= 1_000; number++)
		if (number % 2) known.stored(number, number, 1);
		else known.void(number);
	const left = new LeftStreams();
	left.leave(known);
	const counts: number[] = [];
	for (let sequence = 1; ; sequence++) {
		const values = left.next("s2");
		if (!values) break;
		counts.push(readLeft(values).flatMap(({ ranges }) => ranges).length);
		left.stored("s2", sequence);
	}
	expect(counts).toEqual([200, 200, 100]);
});

test("it is told again in the next stream, until archive has taken a frame that tells it", () => {
	const left = new LeftStreams();
	left.leave(storedNumbers(1));
	expect(left.next("s2")).toHaveLength(1);
	// That frame was refused.
	expect(left.next("s2")).toHaveLength(1);
	left.stored("s2", 5);
	expect(left.next("s2")).toBeUndefined();
	left.inspected("s2", 5);
	expect(left.next("s3")).toHaveLength(1);
	left.stored("s3", 1);
	left.inspected("s3", 2);
	expect(left.next("s4")).toBeUndefined();
});

test("the first frame of another stream tells what was stored in the one before, and a refused number isn't", async () => {
	const commit = new CommitterFixture();
	const send = async (name: string, outcome: "stored" | "refused") => {
		commit.add(name);
		commit.turn();
		await commit.attempts.at(-1)!.settle(outcome);
		return commit.attempts.at(-1)!.frame;
	};
	expect(await send("a", "stored")).not.toHaveProperty("left");
	await send("b", "refused");
	await send("c", "stored");
	commit.committer.inspected({
		...{ stream: "s1", firstSequence: 1, lastSequence: 7 },
	});
	commit.committer.target("s2");
	const { left, process } = await send("d", "stored");
	expect(Number(process)).toBe(2);
	expect(readLeft(left!)).toMatchObject([
		{
			...{ stream: "s1", process: "1".padStart(32, "0"), lastSequence: 7 },
			ranges: [
				[1, 1],
				[3, 3],
			],
		},
	]);
	expect(await send("e", "stored")).not.toHaveProperty("left");
});
