import { expect, test } from "vitest";
import {
	agedTo,
	type FrameNumbers,
	forgetSilent,
	gapMs,
	memoryMs,
	noteLost,
	takeFrame,
} from "./frame-numbers.ts";

const second = 1000;

/** Takes frames `[number, voided, at seconds]` in order; what each turned out to be. */
function take(...frames: [number: number, voided: number[], at: number][]) {
	let numbers: FrameNumbers | undefined;
	const verdicts = frames.map(([number, voided, at]) => {
		const { after, repeated, overdue } = takeFrame(
			numbers,
			{ number, voided },
			at * second,
		);
		numbers = after;
		const [gap] = overdue;
		return gap ? `gap ${gap.from}-${gap.to}` : repeated ? "repeated" : "new";
	});
	return { verdicts, numbers: numbers! };
}

test.each<[string, [number, number[], number][], string[]]>([
	[
		"numbers in order are all new",
		[
			[1, [], 0],
			[2, [], 1],
			[3, [], 900],
		],
		["new", "new", "new"],
	],
	[
		"a number stored twice is repeated, however late",
		[
			[1, [], 0],
			[2, [], 1],
			[1, [], 2],
			[2, [], 301],
		],
		["new", "new", "repeated", "repeated"],
	],
	[
		"numbers out of order are all new, and repeated the second time",
		[
			[1, [], 0],
			[4, [], 1],
			[2, [], 2],
			[3, [], 3],
			[2, [], 4],
			[5, [], 900],
		],
		["new", "new", "new", "new", "repeated", "new"],
	],
	[
		"the first frame seen need not be the first that was sent",
		[
			[3, [], 0],
			[1, [], 1],
			[2, [], 2],
			[1, [], 3],
		],
		["new", "new", "new", "repeated"],
	],
	[
		"a gap is not overdue while its frame may still arrive",
		[
			[1, [], 0],
			[3, [], 1],
			[4, [], 1 + gapMs / second],
			[2, [], 2 + gapMs / second],
		],
		["new", "new", "new", "new"],
	],
	[
		"a gap that the process's later frames don't fill or void is overdue",
		[
			[1, [], 0],
			[4, [], 1],
			[5, [], 2 + gapMs / second],
		],
		["new", "new", "gap 2-3"],
	],
	[
		"a gap is found once, and each one",
		[
			[1, [], 0],
			[3, [], 1],
			[4, [], 2 + gapMs / second],
			[6, [], 3 + gapMs / second],
			[7, [], 4 + (2 * gapMs) / second],
			[8, [], 5 + (2 * gapMs) / second],
		],
		["new", "new", "gap 2-2", "new", "gap 5-5", "new"],
	],
	[
		"a voided number is no gap",
		[
			[1, [], 0],
			[4, [2], 1],
			[5, [3], 2 + gapMs / second],
			[6, [], 900],
		],
		["new", "new", "new", "new"],
	],
	[
		"a voided number that was stored after all is left out: its senders were told to send again",
		[
			[1, [], 0],
			[3, [2], 1],
			[2, [], 2],
		],
		["new", "new", "repeated"],
	],
	[
		"numbers from before archive's memory are never a gap",
		[
			[1000, [], 0],
			[1001, [], 900],
			[1002, [], 901],
		],
		["new", "new", "new"],
	],
	[
		"the number before the first frame seen is new, and repeated the second time",
		[
			[2, [], 0],
			[1, [], 1],
			[1, [], 2],
		],
		["new", "new", "repeated"],
	],
	[
		"a number below one gap and above none is repeated",
		[
			[1, [], 0],
			[2, [], 0],
			[5, [], 1],
			[2, [], 2],
		],
		["new", "new", "new", "repeated"],
	],
	[
		"voided numbers at the very start are no gap",
		[
			[3, [1, 2], 0],
			[4, [], 900],
		],
		["new", "new"],
	],
])("%s", (_, frames, verdicts) => {
	expect(take(...frames).verdicts).toEqual(verdicts);
});

test("a number inside a gap splits it", () => {
	expect(take([1, [], 0], [6, [], 1], [4, [], 2]).numbers.holes).toEqual([
		{ from: 2, to: 3, sinceMs: 1000 },
		{ from: 5, to: 5, sinceMs: 1000 },
	]);
});

test("a late number fills its own gap and no other", () => {
	const { holes } = take(
		[1, [], 0],
		[3, [], 1],
		[5, [], 2],
		[2, [], 3],
	).numbers;
	expect(holes).toEqual([{ from: 4, to: 4, sinceMs: 2000 }]);
});

test("the first frame seen leaves exactly the numbers below it open", () => {
	const open = (number: number) => take([number, [], 0]).numbers.holes;
	expect(open(1)).toEqual([]);
	expect(open(2)).toEqual([{ from: 1, to: 1, sinceMs: 0, beforeMemory: true }]);
	expect(open(5)).toMatchObject([{ from: 1, to: 4 }]);
});

test("from one frame to the next, a process and its gaps get older by a minute at most, and never younger", () => {
	const { numbers } = take([1, [], 5], [3, [], 10]);
	const gap = { from: 2, to: 2 };
	const seenAt = (at: number) => agedTo(at * second, { p: numbers }).p;
	const times = (sinceMs: number, lastSeenMs: number) => ({
		highest: 3,
		holes: [{ ...gap, sinceMs: sinceMs * second }],
		lastSeenMs: lastSeenMs * second,
	});
	for (const at of [10, 11, 70]) expect(seenAt(at)).toEqual(times(10, 10));
	expect(seenAt(71)).toEqual(times(11, 11));
	expect(seenAt(3_610)).toEqual(times(3_550, 3_550));
	expect(seenAt(9)).toEqual(times(9, 9));
	expect(agedTo(9, {})).toEqual({});
});

test("receive has three minutes to store or void a number, and is remembered for ten", () => {
	expect([gapMs, memoryMs]).toEqual([180_000, 600_000]);
});

test("a gap is forgotten ten minutes after the frame that revealed it", () => {
	const holesAt = (at: number) =>
		take([1, [], 0], [3, [], 1], [4, [], 200], [5, [], at]).numbers.holes;
	expect(holesAt(601)).toMatchObject([{ from: 2, to: 2, isLost: true }]);
	expect(holesAt(602)).toEqual([]);
});

test.each<[string, number, [number: number, voided: number[]], object[]]>([
	["all of a gap", 2, [4, []], [{ from: 2, to: 3, isLost: true }]],
	[
		"a part of a gap",
		1,
		[4, []],
		[
			{ from: 2, to: 2, isLost: true },
			{ from: 3, to: 3 },
		],
	],
	[
		"a gap without its voided numbers",
		1,
		[4, [2]],
		[{ from: 3, isLost: true }],
	],
	["no gap", 1, [2, []], []],
	[
		"the first of two gaps, as many as they are",
		2,
		[6, [4]],
		[
			{ from: 2, to: 3, isLost: true },
			{ from: 5, to: 5 },
		],
	],
])(
	"lost sequences behind a process's latest frame are counted as %s",
	(_, sequences, [number, voided], holes) => {
		const known = { p: take([1, [], 0]).numbers };
		const { p } = noteLost(known, sequences);
		const { after } = takeFrame(p, { number, voided }, second);
		expect(after.holes).toMatchObject(holes);
		expect(after.holes).toHaveLength(holes.length);
		for (const [index, gap] of holes.entries())
			expect("isLost" in after.holes[index]!).toBe("isLost" in gap);
		// Only the process's next frame tells.
		expect(after).not.toHaveProperty("lostSequences");
	},
);

test("a number that is counted as a lost sequence is archived if it comes after all", () => {
	const { p } = noteLost({ p: take([1, [], 0]).numbers }, 1);
	const { after } = takeFrame(p, { number: 3, voided: [] }, second);
	const late = takeFrame(after, { number: 2, voided: [] }, 2 * second);
	expect(late).toMatchObject({ repeated: false, after: { holes: [] } });
});

test("a gap from before the sequences were lost isn't counted as them", () => {
	const { p } = noteLost({ p: take([1, [], 0], [3, [], 1]).numbers }, 5);
	const { after } = takeFrame(p, { number: 4, voided: [] }, 2 * second);
	expect(after.holes).toEqual([{ from: 2, to: 2, sinceMs: second }]);
});

test("a process is forgotten ten minutes after its last frame", () => {
	const { numbers } = take([1, [], 0]);
	expect(forgetSilent({ a: numbers }, memoryMs)).toEqual({ a: numbers });
	expect(forgetSilent({ a: numbers }, memoryMs + 1)).toEqual({});
});
