import { expect, test } from "vitest";
import { addDays, utcDate } from "../../packages/contracts/utc-date.ts";
import type { CutGroup, CutRecord } from "./decide/cut.ts";
import {
	expectedGroups,
	isSettled,
	lossOf,
	mayHold,
	stateOfCut,
} from "./losses.ts";

const minuteMs = 60_000;

test.each([
	["no object is missing", 0, false, 0, 0, "complete"],
	["no object is missing and the stream is there", 0, true, 0, 0, "complete"],
	["the stream holds the frames", 1, true, 60 * minuteMs, 0, "held"],
	["it was decided just now", 1, false, 0, 0, "awaited"],
	["it was decided a minute ago", 2, false, minuteMs, minuteMs, "awaited"],
	["it was decided almost two minutes ago", 1, false, 119_999, 0, "awaited"],
	["it was decided two minutes ago", 1, false, 120_000, 0, "lost"],
	["the store's clock is ahead", 1, false, -3_600_000, 119_999, "awaited"],
	["the store's clock stays ahead", 1, false, -3_600_000, 120_000, "lost"],
])(
	"if %s, a cut's state follows",
	(_, missing, isHeld, ageMs, waitedMs, state) => {
		expect(stateOfCut({ missing, isHeld, ageMs, waitedMs })).toBe(state);
	},
);

function group(more: Partial<CutGroup> = {}): CutGroup {
	return {
		account: "shop",
		sourceKey: "a",
		date: "2026-03-01",
		rows: 2,
		lastEventTime: "2026-03-01T12:00:00Z",
		...more,
	};
}

function cutOf(...groups: CutGroup[]): CutRecord {
	const mark = { id: "x", time: "2026-03-01T12:00:00Z" };
	return {
		version: 1,
		stream: "s",
		first: 5,
		last: 9,
		firstFrame: mark,
		lastFrame: mark,
		repeated: [],
		processes: {},
		groups,
	};
}

test.each([
	["is gone", undefined, false],
	["holds its frames alone", { firstSequence: 5, lastSequence: 9 }, true],
	["holds more", { firstSequence: 1, lastSequence: 20 }, true],
	["has lost its first", { firstSequence: 6, lastSequence: 20 }, false],
	["has lost its last", { firstSequence: 1, lastSequence: 8 }, false],
	["is empty", { firstSequence: 0, lastSequence: 0 }, false],
])(
	"if the stream %s, it is known whether a cut's frames may come",
	(_, stream, expected) => {
		expect(mayHold(cutOf(), stream)).toBe(expected);
	},
);

test("objects of deleted sources and of dates that may have expired are not expected", () => {
	const nowMs = Date.parse("2026-03-01T12:00:00Z");
	const today = utcDate(nowMs);
	const [kept, expired, deleted] = [
		group({ date: addDays(today, -30) }),
		group({ date: addDays(today, -31) }),
		group({ sourceKey: "deleted" }),
	];
	expect(
		expectedGroups(
			cutOf(kept, expired, deleted),
			({ sourceKey }) => sourceKey === "deleted",
			nowMs,
		),
	).toEqual([kept]);
});

test("a loss names the cut, and each source and date with its events", () => {
	const time = "2026-03-01T13:00:00Z";
	const lost = group({ quarantined: true });
	const loss = lossOf(cutOf(), [], time);
	expect(isSettled(cutOf(), [loss])).toBe(true);
	expect(isSettled({ ...cutOf(), first: 6 }, [loss])).toBe(false);
	expect(isSettled({ ...cutOf(), stream: "t" }, [loss])).toBe(false);
	expect(lossOf(cutOf(group(), lost), [lost], time)).toEqual({
		version: 1,
		stream: "s",
		loss: {
			kind: "objects",
			from: 5,
			to: 9,
			time,
			groups: [
				{
					account: "shop",
					sourceKey: "a",
					date: "2026-03-01",
					rows: 2,
					quarantined: true,
				},
			],
		},
	});
});
