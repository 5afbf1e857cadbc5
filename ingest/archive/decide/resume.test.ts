import { expect, test } from "vitest";
import type { CutRecord } from "./cut.ts";
import { resume } from "./resume.ts";

const lastFrame = { id: "p.20", time: "2026-03-01T12:00:00.000Z" };
const head = { stream: "s", first: 11, last: 20, lastFrame } as CutRecord;
const lost: CutRecord = {
	...head,
	losses: [{ kind: "sequences", from: 11, to: 20, time: lastFrame.time }],
};

test.each<[string, CutRecord | undefined, [number, number], number, object]>([
	[
		"a new stream is read from its beginning",
		undefined,
		[0, 0],
		0,
		{ from: 1 },
	],
	[
		"a stream without cuts is read from its beginning",
		undefined,
		[1, 5],
		0,
		{ from: 1 },
	],
	[
		"a cut without its objects is finished first",
		head,
		[1, 30],
		10,
		{ from: 11, unfinished: head },
	],
	[
		"even if the cut before it is purged",
		head,
		[11, 20],
		0,
		{ from: 11, unfinished: head },
	],
	["a cut with its objects, not purged yet", head, [11, 20], 20, { from: 21 }],
	[
		"a cut of lost sequences is done, though NATS still counts them",
		lost,
		[11, 30],
		10,
		{ from: 21 },
	],
	["a purged cut is done", head, [21, 20], 0, { from: 21 }],
	["a purged cut with frames behind it", head, [21, 30], 20, { from: 21 }],
])("%s", (_, cut, [firstSequence, lastSequence], done, expected) => {
	const state = { firstSequence, heldFrom: 0, lastSequence, lastFrame };
	expect(resume("s", cut, state, done)).toEqual(expected);
});

test.each<[string, CutRecord | undefined, [number, number], number?]>([
	["CutsMissing", undefined, [6, 9], 5],
	["CutsMissing", undefined, [1, 9], 1],
	["CutsMissing", head, [11, 30], 21],
	["StreamBehind", head, [1, 19]],
	["StreamBehind", head, [0, 0]],
])("alarm %s", (code, cut, [firstSequence, lastSequence], done = 0) => {
	const state = {
		firstSequence,
		heldFrom: 0,
		lastSequence,
		lastFrame: undefined,
	};
	expect(() => resume("s", cut, state, done)).toThrow(
		expect.objectContaining({ name: "Alarm", code }),
	);
});

test.each([-1, 0, 1])(
	"the time of a frame may differ by %i ms, since the client rounds it",
	(apartMs) => {
		const time = new Date(Date.parse(lastFrame.time) + apartMs).toISOString();
		const state = {
			firstSequence: 1,
			heldFrom: 21,
			lastSequence: 30,
			lastFrame: { ...lastFrame, time },
		};
		expect(resume("s", head, state, 20)).toEqual({ from: 21 });
	},
);

test.each<[CutRecord | undefined, number, object]>([
	[undefined, 3, { from: 1, lost: { from: 1, to: 2 } }],
	[head, 22, { from: 21, lost: { from: 21, to: 21 } }],
	[head, 24, { from: 21, lost: { from: 21, to: 23 } }],
])(
	"exactly the sequences between the newest cut and the stream's beginning are lost",
	(cut, firstSequence, expected) => {
		const state = {
			firstSequence,
			heldFrom: 0,
			lastSequence: 30,
			lastFrame: undefined,
		};
		expect(resume("s", cut, state, 0)).toEqual(expected);
	},
);

test.each([
	["another frame", { ...lastFrame, id: "p.21" }],
	[
		"the frame two milliseconds later",
		{ ...lastFrame, time: "2026-03-01T12:00:00.002Z" },
	],
])(
	"a stream that was restored from an old backup and grew again, with %s where the newest cut ends, is an alarm",
	(_, other) => {
		const state = {
			firstSequence: 1,
			heldFrom: 21,
			lastSequence: 30,
			lastFrame: other,
		};
		expect(() => resume("s", head, state, 20)).toThrow(
			expect.objectContaining({ code: "CutMismatch" }),
		);
	},
);

test.each<[CutRecord | undefined, number, number, object]>([
	[undefined, 4, 0, { from: 1, lost: { from: 1, to: 3 } }],
	[head, 22, 20, { from: 21, lost: { from: 21, to: 21 } }],
	[head, 31, 20, { from: 21, lost: { from: 21, to: 30 } }],
	[head, 21, 20, { from: 21 }],
	// The cut's objects come first.
	[head, 24, 10, { from: 11, unfinished: head }],
])(
	"exactly the sequences behind the newest cut that the stream doesn't hold are lost",
	(cut, heldFrom, done, expected) => {
		const firstSequence = cut ? 11 : 1;
		const state = { firstSequence, heldFrom, lastSequence: 30, lastFrame };
		expect(resume("s", cut, state, done)).toEqual(expected);
	},
);
