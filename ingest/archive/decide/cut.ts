import { isDeepStrictEqual } from "node:util";
import {
	closedThrough,
	dayMs,
	type UtcDate,
	utcDate,
} from "../../../contracts/utc-date.ts";
import { type Frame, type FrameEvent, frameId } from "../../wire/frame.ts";
import { Alarm } from "./alarm.ts";
import { type FrameNumbers, forgetSilent, takeFrame } from "./frame-numbers.ts";
import {
	type Acceptance,
	isAccepted,
	type Loss,
	type SequencesLost,
} from "./loss.ts";

/**
 * The decision that the events of stream sequences first..last stand in these objects and no others. Once written, it
 * is followed by every archiver; it holds all that is needed to write the same objects again from the stream.
 */
export interface CutRecord {
	version: 1;
	stream: string;
	first: number;
	last: number;
	firstFrame: FrameMark;
	lastFrame: FrameMark;
	/** Sequences whose frame had been stored before under the same number; their events are not taken. */
	repeated: number[];
	/** Events that were stored before under the same idempotency key, by another frame; they are not taken. */
	copies?: EventPlace[];
	/** One object each, ordered by account, source and date. */
	groups: CutGroup[];
	/** By receive process, after `last`. */
	processes: Record<string, FrameNumbers>;
	/** These sequences are gone, and a person has accepted that: there are no objects, and nothing to compare. */
	lost?: Acceptance;
}

/** Where an event stands in the stream: its frame's sequence, and its index in the frame. */
export type EventPlace = [sequence: number, index: number];

/** Tells a stored frame from any other. */
export interface FrameMark {
	/** JetStream message id. */
	id: string;
	/** When the stream took it, RFC 3339. */
	time: string;
}

export interface CutGroup {
	account: string;
	sourceKey: string;
	date: UtcDate;
	rows: number;
	/** Receipt of the latest event, RFC 3339. */
	lastEventTime: string;
}

/** A frame as read from the stream. */
export interface StoredFrame {
	sequence: number;
	/** When the stream took it, milliseconds since the epoch. */
	timeMs: number;
	bytes: number;
	frame: Frame;
}

/**
 * Decides the cut of these frames, which are contiguous and follow the newest cut of the stream; `known` are the frame
 * numbers that one left behind, or for a stream's first cut {@link inheritNumbers}.
 * Throws {@link Alarm} FrameGap when a frame is missing among them that wasn't `accepted` as lost.
 */
export function decideCut(
	stream: string,
	known: CutRecord["processes"],
	frames: readonly StoredFrame[],
	accepted: readonly Loss[] = [],
): CutRecord {
	const processes = { ...known };
	const repeated: number[] = [];
	for (const { sequence, timeMs, frame } of frames) {
		const taken = takeFrame(processes[frame.process], frame, timeMs);
		processes[frame.process] = taken.after;
		if (taken.repeated) repeated.push(sequence);
		const gap = taken.gaps.find(
			(hole) => !isAccepted(hole, { stream, process: frame.process }, accepted),
		);
		if (gap)
			throw new Alarm(
				"FrameGap",
				`stream ${stream}: receive process ${frame.process} goes on with frame ${frame.number} (sequence ${sequence}) but its frames ${gap.from} to ${gap.to} never came and weren't voided; they were due at ${new Date(gap.sinceMs).toISOString()}`,
				{
					loss: {
						kind: "frames",
						stream,
						process: frame.process,
						from: gap.from,
						to: gap.to,
					},
				},
			);
	}
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
		groups: groupEvents(frames, repeated).map(({ group }) => group),
		processes: forgetSilent(processes, lastFrame.timeMs),
	};
}

/** The same cut without these events. `frames` are exactly the cut's. */
export function withoutCopies(
	cut: CutRecord,
	frames: readonly StoredFrame[],
	copies: EventPlace[],
): CutRecord {
	if (copies.length === 0) return cut;
	const groups = groupEvents(frames, cut.repeated, copies);
	return { ...cut, copies, groups: groups.map(({ group }) => group) };
}

/**
 * The cut in the place of sequences that are lost, which follow `head`. It is a link of the chain as any other: who read
 * these frames before they were gone, and would decide a cut of them, finds it there.
 */
export function lostCut(
	{ stream, from, to, acceptance }: SequencesLost & { acceptance: Acceptance },
	head: CutRecord | undefined,
	inherited: CutRecord["processes"],
): CutRecord {
	// No frame has this id: should the sequences come back, they are not what was accepted as lost.
	const mark = {
		id: "lost",
		time: head?.lastFrame.time ?? new Date(0).toISOString(),
	};
	return {
		version: 1,
		stream,
		first: from,
		last: to,
		firstFrame: mark,
		lastFrame: mark,
		repeated: [],
		groups: [],
		processes: head?.processes ?? inherited,
		lost: acceptance,
	};
}

/**
 * The frame numbers that a shard's earlier streams left behind, from all of their cuts. A frame whose acknowledgement
 * was lost with its stream is repeated into the next one.
 */
export function inheritNumbers(
	cuts: readonly CutRecord[],
): CutRecord["processes"] {
	const inOrder = cuts.toSorted((a, b) =>
		a.lastFrame.time < b.lastFrame.time ? -1 : 1,
	);
	return Object.assign({}, ...inOrder.map(({ processes }) => processes));
}

/**
 * The events of each of the cut's objects, in the order of its groups, from exactly its frames first..last.
 * Throws {@link Alarm} CutMismatch when the record was not made of these frames.
 */
export function eventsOfCut(
	cut: CutRecord,
	frames: readonly StoredFrame[],
): { group: CutGroup; events: FrameEvent[] }[] {
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
 * Events of the cut whose date was closed before its first frame reached the stream, and so may have been loaded or
 * compacted without them. Receive gives frames up in time; one that NATS had taken off the wire before it stood still is
 * stored all the same. Its sender was told that it is unknown whether it is stored.
 */
export function lateEvents({ groups, firstFrame }: CutRecord): number {
	const closed = closedThrough(Date.parse(firstFrame.time));
	return groups
		.filter(({ date }) => date <= closed)
		.reduce((sum, { rows }) => sum + rows, 0);
}

function groupEvents(
	frames: readonly StoredFrame[],
	repeated: readonly number[],
	copies: readonly EventPlace[] = [],
): { group: CutGroup; events: FrameEvent[] }[] {
	const dropped = new Set(repeated);
	const copiesOf = Map.groupBy(copies, ([sequence]) => sequence);
	const groups = new Map<string, FrameEvent[]>();
	for (const { sequence, frame } of frames) {
		if (dropped.has(sequence)) continue;
		const left = copiesOf.get(sequence)?.map(([, index]) => index);
		const taken = left
			? frame.events.filter((_, index) => !left.includes(index))
			: frame.events;
		for (const event of taken) {
			const key = `${event.account}/${event.sourceKey}/${Math.floor(event.receivedAtMs / dayMs)}`;
			const events = groups.get(key);
			if (events) events.push(event);
			else groups.set(key, [event]);
		}
	}
	return [...groups.values()]
		.map((events) => ({ group: groupOf(events), events }))
		.sort((a, b) => (sortKey(a.group) < sortKey(b.group) ? -1 : 1));
}

function sortKey({ account, sourceKey, date }: CutGroup): string {
	return `${account}/${sourceKey}/${date}`;
}

function groupOf(events: readonly FrameEvent[]): CutGroup {
	const { account, sourceKey } = events[0]!;
	let lastMs = 0;
	for (const { receivedAtMs } of events)
		lastMs = Math.max(lastMs, receivedAtMs);
	return {
		account,
		sourceKey,
		date: utcDate(events[0]!.receivedAtMs),
		rows: events.length,
		lastEventTime: new Date(lastMs).toISOString(),
	};
}

function markOf({ frame, timeMs }: StoredFrame): FrameMark {
	return {
		id: frameId(frame.process, frame.number),
		time: new Date(timeMs).toISOString(),
	};
}

function brief(value: unknown): string {
	return JSON.stringify(value).slice(0, 200);
}
