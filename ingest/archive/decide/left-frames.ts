import type { LeftFrames, NumberRange } from "../../wire/left-frames.ts";
import type { FrameNumbers, NumberGap } from "./frame-numbers.ts";

/** What a cut says of the shard's earlier streams, which hold nothing that archive will read. */
export interface StreamsLeft {
	told?: ToldStream[];
	untold?: UntoldStream[];
}

/** A receive process has said what it had stored in a stream that is gone. */
export interface ToldStream {
	stream: string;
	process: string;
	/** The sequence of its last frame there. */
	last: number;
	/** When archive had the last of its frames, as far as it knew. RFC 3339. */
	since: string;
	/** How many of its frames were found to be lost by this. */
	frames: number;
}

/** A stream that may have held frames that archive never read, and the receive processes that could say so. */
export interface UntoldStream {
	stream: string;
	/** What was stored later may be lost. RFC 3339. */
	since: string;
	processes: string[];
}

/** The shard's stream before this one, as its cuts say. */
export interface FormerStream extends UntoldStream {
	/** The last sequence that is cut. */
	last: number;
}

/** @param newest the newest cut of each of the shard's other streams. */
export function formerStream(
	newest: readonly {
		stream: string;
		last: number;
		lastFrame: { time: string };
		processes: Record<string, FrameNumbers>;
	}[],
): FormerStream | undefined {
	const timeOf = ({ lastFrame }: (typeof newest)[number]) =>
		Date.parse(lastFrame.time);
	const [cut] = [...newest].sort((a, b) => timeOf(b) - timeOf(a));
	if (!cut) return undefined;
	const { stream, last, lastFrame } = cut;
	const processes = Object.entries(cut.processes).flatMap(
		([process, { isOfEarlierStream }]) => (isOfEarlierStream ? [] : [process]),
	);
	return { stream, last, since: lastFrame.time, processes };
}

/**
 * Takes what a process says of a stream that is gone.
 * `lost`: the numbers that are neither stored in a cut nor voided, nor counted before. Said again, they are counted.
 * @param known of the process, from all cuts of that stream.
 */
export function takeLeft(
	known: FrameNumbers | undefined,
	{ ranges }: Pick<LeftFrames, "ranges">,
	timeMs: number,
): { after: FrameNumbers; lost: NumberRange[] } {
	const { highest = 0, holes = [] } = known ?? {};
	const open = holes.filter((gap) => !gap.isLost);
	const places = [
		...open.map(({ from, to }): NumberRange => [from, to]),
		[highest + 1, Number.MAX_SAFE_INTEGER] as const,
	];
	const lost = places.flatMap((place) => common(ranges, place));
	const counted = lost.map(
		([from, to]): NumberGap => ({ from, to, sinceMs: timeMs, isLost: true }),
	);
	// Another value of the header may tell of what comes behind.
	const end = ranges.at(-1)?.[1] ?? 0;
	const left = holes.flatMap((gap) => {
		const from = gap.isLost ? gap.from : Math.max(gap.from, end + 1);
		return from <= gap.to ? [{ ...gap, from }] : [];
	});
	const after: FrameNumbers = {
		highest: Math.max(highest, end),
		holes: [...left, ...counted].sort((a, b) => a.from - b.from),
		lastSeenMs: timeMs,
		isOfEarlierStream: true,
	};
	return { after, lost };
}

function common(ranges: readonly NumberRange[], place: NumberRange) {
	return ranges.flatMap(([from, to]): NumberRange[] => {
		const begin = Math.max(from, place[0]);
		const end = Math.min(to, place[1]);
		return begin <= end ? [[begin, end]] : [];
	});
}
