import { expect, test } from "vitest";
import type { FrameEvent } from "../../wire/frame-event.ts";
import {
	type CutRecord,
	decideCut,
	eventsOfCut,
	inheritNumbers,
	isLost,
	lateEvents,
	lostCut,
	type StreamFrame,
	withoutCopies,
} from "./cut.ts";
import { gapMs, memoryMs } from "./frame-numbers.ts";

const minuteMs = 60_000;

const noon = Date.UTC(2026, 2, 1, 12);
const midnight = Date.UTC(2026, 2, 2);

function event(
	body: string,
	receivedAtMs = noon,
	account = "shop",
	sourceKey = "aa".repeat(16),
): FrameEvent {
	return {
		id: Buffer.alloc(16),
		receivedAtMs,
		account,
		sourceKey,
		kind: "json",
		headers: "",
		violations: "",
		body: Buffer.from(body),
	};
}

function frame(
	sequence: number,
	number: number,
	events: FrameEvent[],
	more: { timeMs?: number; process?: string; voided?: number[] } = {},
): StreamFrame {
	const { timeMs = noon, process = "p", voided = [] } = more;
	return {
		sequence,
		timeMs,
		bytes: 1,
		frame: { process, number, voided, events },
	};
}

/** Frames of a process that nobody asks about, one a minute, from a minute after noon until this time. */
function minutely(sequence: number, untilMs: number): StreamFrame[] {
	const count = Math.floor((untilMs - noon) / minuteMs);
	return Array.from({ length: count }, (_, n) =>
		frame(sequence, 1 + n, [], {
			timeMs: noon + (1 + n) * minuteMs,
			process: "clock",
		}),
	);
}

function bodies(cut: CutRecord, frames: StreamFrame[]): string[][] {
	return eventsOfCut(cut, frames).map(({ events }) =>
		events.map(({ body }) => Buffer.from(body).toString()),
	);
}

test("events are grouped by account, source and date of receipt", () => {
	const frames = [
		frame(1, 1, [event("1"), event("2", midnight), event("3", midnight - 1)]),
		frame(2, 2, [
			event("4", noon, "bank"),
			event("5", noon, "shop", "bb".repeat(16)),
			event("6"),
		]),
	];
	const cut = decideCut("s", {}, frames);
	expect(cut).toMatchObject({
		version: 1,
		stream: "s",
		first: 1,
		last: 2,
		firstFrame: { id: "p.1", time: "2026-03-01T12:00:00.000Z" },
		lastFrame: { id: "p.2" },
		repeated: [],
	});
	expect(
		cut.groups.map((g) => [g.account, g.sourceKey.slice(0, 2), g.date, g.rows]),
	).toEqual([
		["bank", "aa", "2026-03-01", 1],
		["shop", "aa", "2026-03-01", 3],
		["shop", "aa", "2026-03-02", 1],
		["shop", "bb", "2026-03-01", 1],
	]);
	expect(cut.groups[1]!.lastEventTime).toBe("2026-03-01T23:59:59.999Z");
	expect(bodies(cut, frames)).toEqual([["4"], ["1", "3", "6"], ["2"], ["5"]]);
});

const validated = (type: string, kind: string) =>
	JSON.stringify({ plan: "p", type, violations: [{ kind }] });

test("events in quarantine form a group of their own, behind the others of the date", () => {
	const apart = { ...event("2"), quarantined: true as const };
	const frames = [frame(1, 1, [apart, event("1"), event("3", midnight)])];
	const cut = decideCut("s", {}, frames);
	expect(cut.groups.map((g) => [g.date, g.rows, g.quarantined])).toEqual([
		["2026-03-01", 1, undefined],
		["2026-03-01", 1, true],
		["2026-03-02", 1, undefined],
	]);
	expect(bodies(cut, frames)).toEqual([["1"], ["2"], ["3"]]);
	const released = [
		frame(1, 1, [event("2"), ...frames[0]!.frame.events.slice(1)]),
	];
	expect(() => eventsOfCut(cut, released)).toThrow(/groups/);
});

test("a cut says how its events deviate from their plan, without those left out, and nothing depends on it", () => {
	const violations = validated("a", "TypeMismatch");
	const one = { ...event("1"), violations };
	const frames = [
		frame(1, 1, [one, event("2"), { ...one, quarantined: true as const }]),
	];
	const cut = decideCut("s", {}, frames);
	const entry = {
		type: "a",
		kind: "TypeMismatch",
		lastEventTime: "2026-03-01T12:00:00.000Z",
	};
	const group = {
		account: "shop",
		sourceKey: "aa".repeat(16),
		date: "2026-03-01",
	};
	expect(cut.deviations).toEqual([
		{ ...group, entries: [{ ...entry, annotated: 1, quarantined: 0 }] },
		{ ...group, entries: [{ ...entry, annotated: 0, quarantined: 1 }] },
	]);
	expect(withoutCopies(cut, frames, [[1, 2]]).deviations).toHaveLength(1);
	const without = withoutCopies(cut, frames, [
		[1, 0],
		[1, 2],
	]);
	expect(without).not.toHaveProperty("deviations");
	expect(bodies({ ...cut, deviations: [] }, frames)).toHaveLength(2);
	expect(decideCut("s", {}, [frame(1, 1, [event("1")])])).not.toHaveProperty(
		"deviations",
	);
});

test("a frame stored again, in the same cut or a later one, is taken once", () => {
	const one = [frame(1, 1, [event("1")]), frame(2, 1, [event("1")])];
	const first = decideCut("s", {}, one);
	expect(first.repeated).toEqual([2]);
	expect(bodies(first, one)).toEqual([["1"]]);

	const two = [frame(3, 1, [event("1")]), frame(4, 2, [event("2")])];
	const second = decideCut("s", first.processes, two);
	expect(second.repeated).toEqual([3]);
	expect(bodies(second, two)).toEqual([["2"]]);
});

test("a frame that is repeated into the next stream is taken once", () => {
	const old = [frame(1, 1, [event("1")]), frame(2, 2, [event("2")])];
	const one = decideCut("old", {}, [old[0]!]);
	const two = decideCut("old", one.processes, [old[1]!]);
	const next = [frame(1, 2, [event("2")]), frame(2, 3, [event("3")])];
	const cut = decideCut("new", inheritNumbers([one, two]), next);
	expect(cut.repeated).toEqual([1]);
	expect(bodies(cut, next)).toEqual([["3"]]);
});

test("of two cuts that know a process, the later one says which frames were stored", () => {
	const early = decideCut("old", {}, [frame(1, 1, [])]);
	const late = decideCut("older", {}, [frame(9, 2, [], { timeMs: noon + 1 })]);
	for (const cuts of [
		[early, late],
		[late, early],
	])
		expect(inheritNumbers(cuts)).toEqual(late.processes);
});

test("the later of two cuts is the one that knows more, also if NATS's clock was ahead before", () => {
	const ahead = { timeMs: noon + 1e9 };
	const early = decideCut("old", {}, [
		frame(1, 1, [], ahead),
		frame(2, 4, [], ahead),
	]);
	const more = decideCut("old", early.processes, [frame(3, 2, [])]);
	const most = decideCut("old", more.processes, [frame(4, 5, [])]);
	for (const cuts of [
		[early, more],
		[more, early],
	])
		expect(inheritNumbers(cuts)).toEqual(more.processes);
	expect(inheritNumbers([most, early])).toEqual(most.processes);
});

test("a number that is counted as lost stays so, in whichever order the cuts are read", () => {
	const gap = { from: 2, to: 2, sinceMs: noon };
	const open = { highest: 3, holes: [gap], lastSeenMs: noon };
	const counted = { ...open, holes: [{ ...gap, isLost: true as const }] };
	const cuts = [{ processes: { p: open } }, { processes: { p: counted } }];
	for (const order of [cuts, cuts.toReversed()])
		expect(inheritNumbers(order)).toEqual({ p: counted });
});

test.each([1, 3 * 24, -1, -3 * 24])(
	"a frame that is repeated after NATS's clock was set by %i hours is taken once, no number is lost for it, and nothing of that time stays when it is set back",
	(hours) => {
		const moved = (sequence: number, number: number, process = "p") =>
			frame(sequence, number, [event("x")], {
				timeMs: noon + hours * 60 * minuteMs + sequence,
				process,
			});
		const right = decideCut("s", {}, [
			frame(1, 1, [event("x")]),
			frame(2, 1, [event("x")], { process: "q" }),
			frame(3, 3, [event("x")], { process: "q" }),
		]);
		// Of q comes nothing while the clock is wrong, so that it looks silent.
		const wrong = decideCut("s", right.processes, [moved(4, 2), moved(5, 3)]);
		const again = decideCut("s", wrong.processes, [moved(6, 3, "q")]);
		const back = decideCut("s", again.processes, [
			frame(7, 2, [event("x")], { process: "q" }),
			frame(8, 1, [event("x")], { process: "q" }),
			frame(9, 3, [event("x")]),
			frame(10, 4, [event("x")]),
		]);
		for (const cut of [wrong, again, back])
			expect(cut).not.toHaveProperty("losses");
		expect(again.repeated).toEqual([6]);
		expect(back.repeated).toEqual([8, 9]);
		expect(back.processes).toMatchObject({
			p: { highest: 4, holes: [], lastSeenMs: noon },
			q: { highest: 3, holes: [], lastSeenMs: noon },
		});
	},
);

test("a cut of nothing but repeated frames has no objects", () => {
	const first = decideCut("s", {}, [frame(1, 1, [event("1")])]);
	const frames = [frame(2, 1, [event("1")])];
	const cut = decideCut("s", first.processes, frames);
	expect(cut.groups).toEqual([]);
	expect(bodies(cut, frames)).toEqual([]);
});

test("a number that its process skips is lost, even across cuts, unless it is voided", () => {
	const first = decideCut("s", {}, [frame(1, 1, []), frame(2, 3, [])]);
	const late = { timeMs: noon + gapMs + 1 };
	const next = (more: { timeMs: number; voided?: number[] }) =>
		decideCut("s", first.processes, [
			...minutely(3, late.timeMs),
			frame(3, 4, [], more),
		]);
	expect(next(late).losses).toMatchObject([{ from: 2, to: 2 }]);
	expect(next({ ...late, voided: [2] })).not.toHaveProperty("losses");
});

test("an open number of a silent process is no alarm", () => {
	const first = decideCut("s", {}, [frame(1, 1, []), frame(2, 3, [])]);
	const other = { timeMs: noon + memoryMs, process: "q" };
	const second = decideCut("s", first.processes, [
		...minutely(3, other.timeMs),
		frame(3, 1, [], other),
	]);
	expect(Object.keys(second.processes)).toEqual(["p", "clock", "q"]);
	const later = { ...other, timeMs: noon + memoryMs + 1 };
	const third = decideCut("s", second.processes, [frame(4, 2, [], later)]);
	expect(Object.keys(third.processes)).toEqual(["clock", "q"]);
});

test("a record survives JSON", () => {
	const frames = [frame(1, 5, [event("1")])];
	const cut = decideCut("s", {}, frames);
	expect(bodies(JSON.parse(JSON.stringify(cut)), frames)).toEqual([["1"]]);
});

test.each<[string, StreamFrame]>([
	["another frame", frame(2, 9, [event("2")])],
	[
		"the frame at another time",
		frame(2, 2, [event("2")], { timeMs: noon + 1 }),
	],
	["more events", frame(2, 2, [event("2"), event("3")])],
	["events of another date", frame(2, 2, [event("2", midnight)])],
])("a stream whose frame differs from the cut is an alarm: %s", (_, other) => {
	const first = frame(1, 1, [event("1")]);
	const cut = decideCut("s", {}, [first, frame(2, 2, [event("2")])]);
	expect(() => eventsOfCut(cut, [first, other])).toThrow(
		expect.objectContaining({ code: "CutMismatch" }),
	);
});

test("repeats of other frames' events are left out, as the record says", () => {
	const frames = [
		frame(1, 1, [event("a"), event("copy"), event("b")]),
		frame(2, 2, [event("copy", noon, "bank")]),
		frame(3, 3, [event("c")]),
	];
	const cut = decideCut("s", {}, frames);
	expect(withoutCopies(cut, frames, [])).toBe(cut);
	const without = withoutCopies(cut, frames, [
		[1, 1],
		[2, 0],
	]);
	expect(bodies(without, frames)).toEqual([["a", "b", "c"]]);
	// Whoever adopts the record must not take them either.
	expect(() => eventsOfCut({ ...without, copies: [] }, frames)).toThrow(
		/CutMismatch|groups/,
	);
});

const fiveMinutes = 5 * 60_000;

test.each<[string, number, number]>([
	["events of a date that is still open", midnight + fiveMinutes - 1, 0],
	["events of the closed date before", midnight + fiveMinutes, 3],
	["events of a date that closed days ago", midnight + 3 * 86_400_000, 4],
])("late by the time of the first frame are %s", (_, timeMs, expected) => {
	const frames = [
		frame(1, 1, [event("1"), event("2"), event("3", midnight)], { timeMs }),
		frame(2, 2, [event("4", noon, "bank")], { timeMs: timeMs + 86_400_000 }),
	];
	const apart = { ...event("5"), quarantined: true as const };
	frames.push(frame(3, 3, [apart], { timeMs }));
	expect(lateEvents(decideCut("s", {}, frames))).toBe(expected);
});

const loss = {
	kind: "sequences" as const,
	from: 3,
	to: 7,
	time: "2026-03-01T00:00:00.000Z",
};

test("a cut of lost sequences has no objects, continues its head's frame numbers, and matches no frame", () => {
	const head = decideCut("s", {}, [frame(1, 1, []), frame(2, 2, [])]);
	const mark = { id: "lost", time: "2026-03-01T12:00:00.000Z" };
	const cut = lostCut("s", loss, head, { q: head.processes.p! });
	expect(cut).toEqual({
		version: 1,
		stream: "s",
		first: 3,
		last: 7,
		firstFrame: mark,
		lastFrame: mark,
		repeated: [],
		groups: [],
		processes: { p: { ...head.processes.p, lostSequences: 5 } },
		losses: [loss],
	});
	expect([isLost(cut), isLost(head)]).toEqual([true, false]);
});

test("a stream's first cut, if its sequences are lost, continues the earlier streams' frame numbers", () => {
	const { processes } = decideCut("old", {}, [frame(1, 1, [])]);
	expect(lostCut("s", loss, undefined, processes)).toMatchObject({
		lastFrame: { time: "1970-01-01T00:00:00.000Z" },
		processes: { p: { ...processes.p, lostSequences: 5 } },
	});
});

test("frames that were recorded as lost sequences aren't recorded once more by their numbers", () => {
	const head = decideCut("s", {}, [
		frame(1, 1, []),
		frame(2, 1, [], { process: "q" }),
	]);
	const twoMore = { ...loss, from: 9, to: 10 };
	const lost = lostCut("s", loss, head, {});
	const other = decideCut("s", lost.processes, [frame(8, 2, [])]);
	const again = lostCut("s", twoMore, other, {});
	const late = { timeMs: noon + gapMs + 1 };
	const next = decideCut("s", again.processes, [
		// Three numbers are missing where two sequences were lost.
		frame(11, 6, []),
		frame(12, 9, [], { process: "q" }),
		...minutely(12, late.timeMs),
		frame(13, 7, [], late),
		frame(14, 10, [], { process: "q", ...late }),
	]);
	expect(next.losses).toMatchObject([{ process: "p", from: 5, to: 5 }]);
});

test("frames that never arrived are recorded by one cut, which goes on without them", () => {
	const first = decideCut("s", {}, [frame(1, 1, []), frame(2, 4, [])]);
	expect(first).not.toHaveProperty("losses");
	const timeMs = noon + gapMs + 1;
	const next = decideCut("s", first.processes, [
		...minutely(3, timeMs),
		frame(3, 5, [event("5")], { timeMs }),
		frame(4, 6, [], { timeMs: timeMs + 1 }),
	]);
	expect(next.losses).toEqual([
		{
			kind: "frames",
			process: "p",
			from: 2,
			to: 3,
			time: new Date(noon).toISOString(),
		},
	]);
	expect([next.groups[0]!.rows, isLost(next)]).toEqual([1, false]);
	const later = [frame(5, 7, [], { timeMs: timeMs + 2 })];
	expect(decideCut("s", next.processes, later)).not.toHaveProperty("losses");
});

test("a frame that arrives after its loss was recorded is archived", () => {
	const first = decideCut("s", {}, [frame(1, 1, []), frame(2, 4, [])]);
	const at = (sequence: number, number: number, ms: number) =>
		frame(sequence, number, [event("x")], { timeMs: noon + gapMs + ms });
	const next = decideCut("s", first.processes, [
		...minutely(3, noon + gapMs),
		at(3, 5, 1),
	]);
	const late = decideCut("s", next.processes, [at(4, 3, 2), at(5, 3, 3)]);
	expect(late).toMatchObject({ repeated: [5], groups: [{ rows: 1 }] });
});
