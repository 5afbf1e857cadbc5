import { expect, test } from "vitest";
import { isAccepted, type Loss, lossId, parseLossId } from "./loss.ts";

const frames: Loss = {
	kind: "frames",
	stream: "s",
	process: "p1",
	from: 4,
	to: 9,
};
const sequences: Loss = { kind: "sequences", stream: "s", from: 4, to: 9 };

test.each([
	["frames-p1-4-9", frames],
	["sequences-4-9", sequences],
])("the id %s names one loss", (id, loss) => {
	expect(lossId(loss)).toBe(id);
	expect(parseLossId("s", id)).toEqual(loss);
});

test.each([
	"",
	"frames-4-9",
	"sequences-4",
	"sequences-a-9",
	"x-sequences-4-9",
])("%j is no loss's id", (id) => {
	expect(parseLossId("s", id)).toBeUndefined();
});

test.each<[string, Loss[], boolean]>([
	["by exactly its numbers", [frames], true],
	["by more than its numbers", [{ ...frames, from: 3, to: 10 }], true],
	["by one of several", [sequences, frames], true],
	["but its first number", [{ ...frames, from: 5 }], false],
	["but its last number", [{ ...frames, to: 8 }], false],
	[
		"in two parts",
		[
			{ ...frames, to: 6 },
			{ ...frames, from: 7 },
		],
		false,
	],
	["of another process", [{ ...frames, process: "p2" }], false],
	["of another stream", [{ ...frames, stream: "t" }], false],
	["as sequences", [sequences], false],
	["by nobody", [], false],
])("whether a hole is accepted %s", (_, accepted, expected) => {
	const hole = { from: 4, to: 9, sinceMs: 0 };
	const place = { stream: "s", process: "p1" };
	expect(isAccepted(hole, place, accepted)).toBe(expected);
});
