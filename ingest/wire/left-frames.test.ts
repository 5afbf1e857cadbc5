import { expect, test } from "vitest";
import { type LeftFrames, leftValue, readLeft } from "./left-frames.ts";

const left: LeftFrames = {
	stream: "tidemill-frames-0-0123456789abcdef",
	process: "ab".repeat(16),
	lastSequence: 9,
	sinceMs: 1_000,
	untilMs: 2_000,
	ranges: [
		[3, 5],
		[7, 7],
	],
};

test.each([left, { ...left, ranges: [] }])(
	"what a process says of a stream that it has left is read as it was written",
	(said) => {
		expect(readLeft([leftValue(said)])).toEqual([said]);
	},
);

test("a value that says nothing is left out, and the others are read", () => {
	const value = leftValue(left);
	const damaged = ["", "x", value.slice(0, -1), `${value},`, value.slice(1)];
	const read = readLeft([...damaged, value]);
	expect(read.at(-1)).toEqual(left);
	expect(readLeft(["", "x", `${value},`, value.replace("3-5", "3")])).toEqual(
		[],
	);
});
