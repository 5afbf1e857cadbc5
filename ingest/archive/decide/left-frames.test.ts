import { expect, test } from "vitest";
import type { LeftFrames } from "../../wire/left-frames.ts";
import { decideCut, type StreamFrame } from "./cut.ts";
import { ofEarlierStreams } from "./frame-numbers.ts";
import { formerStream, takeLeft } from "./left-frames.ts";

const noon = Date.UTC(2026, 2, 1, 12);
const since = new Date(noon - 2_000).toISOString();
const time = new Date(noon - 1_000).toISOString();

function frame(
	sequence: number,
	number: number,
	more: { process?: string; voided?: number[]; left?: LeftFrames[] } = {},
): StreamFrame {
	const { process = "p", voided = [], left } = more;
	return {
		...{ sequence, timeMs: noon, bytes: 1 },
		frame: { process, number, voided, events: [] },
		...(left && { left }),
	};
}

function leftOf(
	process: string,
	lastSequence: number,
	...ranges: LeftFrames["ranges"]
): LeftFrames {
	return {
		...{ stream: "s1", process, lastSequence, ranges },
		...{ sinceMs: noon - 2_000, untilMs: noon - 1_000 },
	};
}

/** The cuts of stream s1 hold numbers 1 and 3 of process p. */
const first = decideCut("s1", {}, [frame(1, 1), frame(2, 3)]);
const inherited = ofEarlierStreams(first.processes);
const former = formerStream([first])!;

test("of a stream that is gone, exactly the numbers that no cut has are lost", () => {
	const left = [leftOf("p", 5, [1, 1], [3, 6])];
	const cut = decideCut(
		"s2",
		inherited,
		[frame(1, 1, { process: "q", left })],
		{
			...{ held: new Set(), former },
		},
	);
	expect(cut.losses).toEqual([
		{
			...{ kind: "frames", process: "p", from: 4, to: 6 },
			...{ stream: "s1", since, time },
		},
	]);
	expect(cut.left).toEqual({
		told: [{ stream: "s1", process: "p", last: 5, since, frames: 3 }],
	});
});

test("a hole in the cuts is lost if receive has stored it, and isn't if receive gave it up", () => {
	const { p } = first.processes;
	expect(takeLeft(p, { ranges: [[1, 3]] }, noon).lost).toEqual([[2, 2]]);
	expect(takeLeft(p, { ranges: [[3, 3]] }, noon).lost).toEqual([]);
});

test("what several values tell of one process is counted once each, also if they are told again", () => {
	let known = first.processes.p;
	const told = [
		{ ranges: [[1, 4]] as const },
		{ ranges: [[6, 7]] as const },
		{ ranges: [[1, 4]] as const },
		{ ranges: [[6, 7]] as const },
	].map(({ ranges }) => {
		const { after, lost } = takeLeft(known, { ranges: [...ranges] }, noon);
		known = after;
		return lost;
	});
	expect(told).toEqual([
		[
			[2, 2],
			[4, 4],
		],
		[[6, 7]],
		[],
		[],
	]);
});

test("a process that no cut knows has lost all that it says", () => {
	const left = [leftOf("new", 4, [1, 2])];
	const cut = decideCut("s2", {}, [frame(1, 1, { left })]);
	expect(cut.losses).toMatchObject([{ process: "new", from: 1, to: 2 }]);
});

test("nothing is lost of a stream that NATS still has, or of the stream that is cut", () => {
	const left = [leftOf("p", 5, [4, 6])];
	const held = { held: new Set(["s1"]) };
	const frames = [frame(1, 1, { process: "q", left })];
	const cut = decideCut("s2", inherited, frames, held);
	expect(cut).not.toHaveProperty("losses");
	// But nobody reads it.
	expect(cut.left).toEqual({
		untold: [{ stream: "s1", since, processes: ["p"] }],
	});
	const own = decideCut("s1", first.processes, [frame(3, 7, { left })]);
	expect(own).not.toHaveProperty("losses");
	expect(own).not.toHaveProperty("left");
});

test("a stream that is gone is untold until each process that published there has told", () => {
	const silent = [frame(1, 1, { process: "q" })];
	const others = { held: new Set<string>(), former };
	expect(decideCut("s2", inherited, silent, others).left).toEqual({
		untold: [
			{ stream: "s1", since: new Date(noon).toISOString(), processes: ["p"] },
		],
	});
});

test("a process of an earlier stream isn't asked about a stream in which it published nothing", () => {
	const second = decideCut("s2", inherited, [frame(1, 1, { process: "q" })]);
	expect(formerStream([second])).toMatchObject({ processes: ["q"] });
	const again = decideCut("s2", inherited, [frame(1, 4)]);
	expect(formerStream([again])).toMatchObject({ processes: ["p"] });
});

test("the stream before is the one whose newest cut is the latest", () => {
	const later = {
		...first,
		stream: "s0",
		lastFrame: { id: "p.9", time: new Date(noon + 1).toISOString() },
	};
	expect(formerStream([first, later])?.stream).toBe("s0");
	expect(formerStream([later, first])?.stream).toBe("s0");
	expect(formerStream([])).toBeUndefined();
});
