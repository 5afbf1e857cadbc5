import { isDeepStrictEqual } from "node:util";
import type { Deviations } from "../../../packages/contracts/ledger.ts";
import {
	closedThrough,
	dayMs,
	type UtcDate,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import { type Frame, frameId } from "../../wire/frame.ts";
import type { FrameEvent } from "../../wire/frame-event.ts";
import type { LeftFrames } from "../../wire/left-frames.ts";
import { Alarm } from "./alarm.ts";
import { deviationsOf } from "./deviations.ts";
import {
	agedTo,
	type FrameNumbers,
	forgetSilent,
	noteLost,
	takeFrame,
} from "./frame-numbers.ts";
import {
	type FormerStream,
	type StreamsLeft,
	type ToldStream,
	takeLeft,
	type UntoldStream,
} from "./left-frames.ts";
import { framesOf, type Loss, type SequencesLost } from "./loss.ts";

/**
 * The decision that these objects, and no others, hold the events of stream sequences first..last. Once it is written,
 * every archiver follows it. It contains all that is needed to make the same objects from the stream again.
 */
export interface CutRecord {
	version: 1;
	stream: string;
	first: number;
	last: number;
	firstFrame: FrameMark;
	lastFrame: FrameMark;
	/** Sequences of frames whose number was stored before; their events are left out. */
	repeated: number[];
	/** Events whose idempotency key was stored before in another frame; they are left out. */
	copies?: EventPlace[];
	/** One object for each, ordered by account, source and date; of a date, that in quarantine comes last. */
	groups: CutGroup[];
	/**
	 * How the groups' events deviate from their tracking plans, for the ledger; absent when none does. Nothing depends on
	 * it, so archives that count in different ways follow each other's cuts.
	 */
	deviations?: GroupDeviations[];
	/** By receive process, after `last`. */
	processes: Record<string, FrameNumbers>;
	/** What was found to be lost with this cut. If it is the cut's own sequences, see {@link isLost}. */
	losses?: Loss[];
	/** Absent where nothing is said of other streams. */
	left?: StreamsLeft;
}

/** An event's place in the stream: its frame's sequence, and its index in the frame. */
export type EventPlace = [sequence: number, index: number];

export interface FrameMark {
	/** JetStream message id. */
	id: string;
	/** Stream time, RFC 3339. */
	time: string;
}

export interface CutGroup {
	account: string;
	sourceKey: string;
	date: UtcDate;
	rows: number;
	/** When receive got the latest event, RFC 3339. */
	lastEventTime: string;
	/** The tracking plan keeps these events apart: their object is in quarantine. */
	quarantined?: true;
}

export type CutSource = Pick<CutGroup, "account" | "sourceKey">;

export interface GroupDeviations extends Deviations {
	account: string;
	sourceKey: string;
	date: UtcDate;
}

export interface GroupEvents {
	group: CutGroup;
	events: FrameEvent[];
}

export interface StreamFrame {
	sequence: number;
	/** Stream time, milliseconds since the epoch. */
	timeMs: number;
	bytes: number;
	frame: Frame;
	/** What its message says of streams that its process has left. */
	left?: readonly LeftFrames[];
}

/** What is known of the shard's other streams when a cut is decided. */
export interface OtherStreams {
	/** Those that NATS still has: what they hold isn't lost. */
	held: ReadonlySet<string>;
	/** Before a stream's first cut: the one before it, if it may have held more than was cut. */
	former?: FormerStream;
}

/**
 * Decides the cut of these frames, which are contiguous and follow the stream's newest cut. `known` are the frame numbers
 * that this newest cut left behind; for a stream's first cut, the result of {@link inheritNumbers}.
 */
export function decideCut(
	stream: string,
	known: CutRecord["processes"],
	frames: readonly StreamFrame[],
	others: OtherStreams = { held: new Set() },
): CutRecord {
	const numbers = numbersOf(known, frames);
	const { repeated } = numbers;
	const { processes, losses, left } = withLeft(stream, numbers, frames, others);
	const firstFrame = frames[0]!;
	const lastFrame = frames.at(-1)!;
	return {
		version: 1,
		stream,
		first: firstFrame.sequence,
		last: lastFrame.sequence,
		firstFrame: markOf(firstFrame),
		lastFrame: markOf(lastFrame),
		repeated,
		...contentsOf(groupEvents(frames, repeated)),
		processes: forgetSilent(processes, lastFrame.timeMs),
		...(losses.length > 0 && { losses }),
		...(left && { left }),
	};
}

/** The numbers with what the frames say of streams that are gone. */
function withLeft(
	stream: string,
	numbers: Pick<CutRecord, "processes"> & { losses: Loss[] },
	frames: readonly StreamFrame[],
	{ held, former }: OtherStreams,
): Pick<CutRecord, "processes" | "left"> & { losses: Loss[] } {
	const processes = { ...numbers.processes };
	const losses = [...numbers.losses];
	const told: ToldStream[] = [];
	const untold = new Map<string, UntoldStream>();
	const said = frames.flatMap(({ timeMs, left = [] }) =>
		left.map((of) => ({ ...of, timeMs })),
	);
	for (const { timeMs, ...of } of said) {
		const { process } = of;
		if (of.stream === stream) continue;
		const taken = takeLeft(processes[process], of, timeMs);
		const since = new Date(of.sinceMs).toISOString();
		if (held.has(of.stream)) {
			if (taken.lost.length === 0) continue;
			const before = untold.get(of.stream);
			untold.set(of.stream, {
				stream: of.stream,
				since: before && before.since < since ? before.since : since,
				processes: [...(before?.processes ?? []), process],
			});
			continue;
		}
		processes[process] = taken.after;
		const time = new Date(of.untilMs).toISOString();
		let lost = 0;
		for (const [from, to] of taken.lost) {
			lost += to - from + 1;
			losses.push({
				kind: "frames",
				...{ process, from, to, time },
				...{ stream: of.stream, since },
			});
		}
		told.push({
			...{ stream: of.stream, process, last: of.lastSequence, since },
			frames: lost,
		});
	}
	if (former) {
		const { last, ...rest } = former;
		const isTold = (process: string) =>
			told.some((of) => of.stream === former.stream && of.process === process);
		const silent = former.processes.filter((process) => !isTold(process));
		if (silent.length > 0)
			untold.set(former.stream, { ...rest, processes: silent });
	}
	if (told.length + untold.size === 0) return { processes, losses };
	const left: StreamsLeft = {
		...(told.length > 0 && { told }),
		...(untold.size > 0 && { untold: [...untold.values()] }),
	};
	return { processes, losses, left };
}

/** Which of the frames are repeated says the same before their cut and in it, whichever frames follow. */
export function numbersOf(
	known: CutRecord["processes"],
	frames: readonly StreamFrame[],
): { processes: CutRecord["processes"]; repeated: number[]; losses: Loss[] } {
	let processes = { ...known };
	const repeated: number[] = [];
	const losses: Loss[] = [];
	for (const { sequence, timeMs, frame } of frames) {
		processes = agedTo(timeMs, processes);
		const taken = takeFrame(processes[frame.process], frame, timeMs);
		processes[frame.process] = taken.after;
		if (taken.repeated) repeated.push(sequence);
		for (const { from, to, sinceMs } of taken.overdue) {
			const time = new Date(sinceMs).toISOString();
			const { process } = frame;
			losses.push({ kind: "frames", process, from, to, time });
		}
	}
	return { processes, repeated, losses };
}

/** The same cut without these events. `frames` are exactly the cut's frames. */
export function withoutCopies(
	cut: CutRecord,
	frames: readonly StreamFrame[],
	copies: EventPlace[],
): CutRecord {
	if (copies.length === 0) return cut;
	const { deviations, ...rest } = cut;
	const groups = groupEvents(frames, cut.repeated, copies);
	return { ...rest, copies, ...contentsOf(groups) };
}

function contentsOf(
	groups: readonly GroupEvents[],
): Pick<CutRecord, "groups" | "deviations"> {
	const deviations = groups.flatMap(({ group, events }) => {
		const { account, sourceKey, date } = group;
		const found = deviationsOf(events);
		return found ? [{ account, sourceKey, date, ...found }] : [];
	});
	return {
		groups: groups.map(({ group }) => group),
		...(deviations.length > 0 && { deviations }),
	};
}

/**
 * The cut in place of lost sequences, which follow `head`. It is a link of the chain like any other, so an archiver that
 * read these frames before they were lost finds it when it tries to decide a cut of them.
 */
export function lostCut(
	stream: string,
	loss: SequencesLost,
	head: CutRecord | undefined,
	inherited: CutRecord["processes"],
): CutRecord {
	// No frame has this id, so sequences that come back differ from the cut.
	const mark = {
		id: "lost",
		time: head?.lastFrame.time ?? new Date(0).toISOString(),
	};
	return {
		version: 1,
		stream,
		first: loss.from,
		last: loss.to,
		firstFrame: mark,
		lastFrame: mark,
		repeated: [],
		groups: [],
		processes: noteLost(head?.processes ?? inherited, framesOf(loss)),
		losses: [loss],
	};
}

/** Whether the stream lost the cut's own sequences. Then it has no objects, and there is nothing to compare. */
export function isLost({ first, losses = [] }: CutRecord): boolean {
	return losses.some(
		({ kind, from }) => kind === "sequences" && from === first,
	);
}

/**
 * The frame numbers that a shard's earlier streams left behind, from all their cuts. If a frame's acknowledgement is lost
 * with its stream, receive repeats the frame into the next stream. Of two cuts that know a process, the one that knows more of
 * its numbers is the later one, whatever NATS's clock said.
 */
export function inheritNumbers(
	cuts: readonly Pick<CutRecord, "processes">[],
): CutRecord["processes"] {
	const inherited: CutRecord["processes"] = {};
	for (const { processes } of cuts)
		for (const [process, numbers] of Object.entries(processes)) {
			const before = inherited[process];
			if (!before || knowsMore(numbers, before)) inherited[process] = numbers;
		}
	return inherited;
}

function knowsMore(a: FrameNumbers, b: FrameNumbers): boolean {
	if (a.highest !== b.highest) return a.highest > b.highest;
	// A number is open, then counted as lost or filled.
	const open = ({ holes }: FrameNumbers) =>
		holes.reduce(
			(sum, { from, to, isLost }) => sum + (to - from + 1) * (isLost ? 1 : 2),
			0,
		);
	return open(a) <= open(b);
}

/**
 * The events of each object of the cut, in the order of its groups, from exactly its frames first..last.
 * Throws {@link Alarm} CutMismatch if the record wasn't made from these frames.
 */
export function eventsOfCut(
	cut: CutRecord,
	frames: readonly StreamFrame[],
): GroupEvents[] {
	const groups = groupEvents(frames, cut.repeated, cut.copies);
	const found = {
		first: frames[0]!.sequence,
		last: frames.at(-1)!.sequence,
		firstFrame: markOf(frames[0]!),
		lastFrame: markOf(frames.at(-1)!),
		groups: groups.map(({ group }) => group),
	};
	for (const key of Object.keys(found) as (keyof typeof found)[])
		if (!isDeepStrictEqual(found[key], cut[key]))
			throw new Alarm(
				"CutMismatch",
				`stream ${cut.stream}: the cut of sequences ${cut.first} to ${cut.last} says ${key} ${brief(cut[key])}, the stream says ${brief(found[key])}`,
			);
	return groups;
}

/**
 * Counts the cut's events whose date was closed before the cut's first frame reached the stream. The date may have been
 * loaded or compacted without them. Receive gives up frames in time, but NATS may have read one off the wire before it
 * stalled and stores it afterwards. Receive told its sender that the outcome is unknown. Nobody misses those in
 * quarantine.
 */
export function lateEvents({ groups, firstFrame }: CutRecord): number {
	const closed = closedThrough(Date.parse(firstFrame.time));
	return groups
		.filter(({ date, quarantined }) => date <= closed && !quarantined)
		.reduce((sum, { rows }) => sum + rows, 0);
}

/** The events by the object that each belongs to, without what is left out: of all sources, or of one those that count as rows. */
export function groupEvents(
	frames: readonly StreamFrame[],
	repeated: readonly number[],
	copies: readonly EventPlace[] = [],
	source?: CutSource,
): GroupEvents[] {
	const dropped = new Set(repeated);
	const copiesOf = Map.groupBy(copies, ([sequence]) => sequence);
	const groups = new EventGroups();
	for (const { sequence, frame } of frames) {
		if (dropped.has(sequence)) continue;
		const left = copiesOf.get(sequence)?.map(([, index]) => index);
		const taken = left
			? frame.events.filter((_, index) => !left.includes(index))
			: frame.events;
		for (const event of taken)
			if (!source || isRowOf(event, source)) groups.add(event);
	}
	return groups
		.all()
		.map((events) => ({ group: groupOf(events), events }))
		.sort((a, b) => (sortKey(a.group) < sortKey(b.group) ? -1 : 1));
}

function isRowOf(event: FrameEvent, { account, sourceKey }: CutSource) {
	const isFrom = event.sourceKey === sourceKey && event.account === account;
	return isFrom && !event.quarantined;
}

function sortKey({ account, sourceKey, date, quarantined }: CutGroup): string {
	return `${account}/${sourceKey}/${date}${quarantined ? "/q" : ""}`;
}

function groupOf(events: readonly FrameEvent[]): CutGroup {
	const { account, sourceKey, quarantined } = events[0]!;
	let lastMs = 0;
	for (const { receivedAtMs } of events)
		lastMs = Math.max(lastMs, receivedAtMs);
	return {
		account,
		sourceKey,
		date: utcDate(events[0]!.receivedAtMs),
		rows: events.length,
		lastEventTime: new Date(lastMs).toISOString(),
		...(quarantined && { quarantined }),
	};
}

function markOf({ frame, timeMs }: StreamFrame): FrameMark {
	return {
		id: frameId(frame.process, frame.number),
		time: new Date(timeMs).toISOString(),
	};
}

function brief(value: unknown): string {
	return JSON.stringify(value).slice(0, 200);
}

/** The events of one account, source and date, in quarantine or not. There is at least one. */
interface Group {
	day: number;
	first: FrameEvent;
	events: FrameEvent[];
}

/** Tells events apart by the object that they belong to, without a text for each: most follow one of the same group. */
export class EventGroups {
	/** By source key. Nearly all have one or two. */
	readonly #groups = new Map<string, Group[]>();
	#latest: Group | undefined;

	add(event: FrameEvent): void {
		const day = Math.floor(event.receivedAtMs / dayMs);
		const latest = this.#latest;
		if (!latest || !isOf(latest, event, day))
			this.#latest = this.#find(event, day);
		this.#latest!.events.push(event);
	}

	all(): FrameEvent[][] {
		return [...this.#groups.values()].flat().map(({ events }) => events);
	}

	#find(event: FrameEvent, day: number): Group {
		let ofSource = this.#groups.get(event.sourceKey);
		if (!ofSource) {
			ofSource = [];
			this.#groups.set(event.sourceKey, ofSource);
		}
		let group = ofSource.find((other) => isOf(other, event, day));
		if (!group) {
			group = { day, first: event, events: [] };
			ofSource.push(group);
		}
		return group;
	}
}

function isOf(
	{ day, first }: Group,
	{ account, sourceKey, quarantined }: FrameEvent,
	ofDay: number,
): boolean {
	return (
		day === ofDay &&
		first.sourceKey === sourceKey &&
		first.account === account &&
		first.quarantined === quarantined
	);
}
