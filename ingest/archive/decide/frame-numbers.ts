/** The known frame numbers of one receive process. JSON, as every cut record contains them. */
export interface FrameNumbers {
	highest: number;
	/** Numbers up to `highest` that are neither stored nor voided yet, ascending. */
	holes: NumberGap[];
	/** Stream time of the process's latest frame, milliseconds since the epoch; see {@link agedTo}. */
	lastSeenMs: number;
	/** How many sequences the stream has lost since the process's latest frame, whosever frames they were. */
	lostSequences?: number;
	/** The process has published nothing in the stream that is cut now. */
	isOfEarlierStream?: true;
}

/** Numbers from..to, both included. */
export interface NumberGap {
	from: number;
	to: number;
	/** Stream time of the frame that revealed the gap; see {@link agedTo}. */
	sinceMs: number;
	/**
	 * The gap precedes the first frame that archive remembers of this process. Its numbers may belong to an earlier
	 * stream, or be forgotten. They may still arrive, but their absence proves nothing.
	 */
	beforeMemory?: true;
	/** A cut has recorded these numbers, or as many sequences, as lost. They may still arrive, and are archived then. */
	isLost?: true;
}

/**
 * How long a gap may stay open while its process continues. Receive stores or voids a number within 60 s of assigning it,
 * and a frame that names the voided number is stored within another 60 s. The third minute allows for clocks.
 */
export const gapMs = 3 * 60_000;

/** Stream time after which a silent process is forgotten. Receive repeats a frame for at most 60 s. */
export const memoryMs = 10 * 60_000;

/** From one frame to the next, nothing gets older by more than this. */
const mostStepMs = 60_000;

/**
 * What is known, as seen from a frame at this stream time. NATS's clock may have been set between two frames: ahead, so that
 * processes which repeat a frame would be forgotten and the frame taken twice, or back. So all times move with it, but for
 * the minute that may really have passed. A stream that was quiet for longer remembers for a few frames more.
 */
export function agedTo(
	timeMs: number,
	processes: Record<string, FrameNumbers>,
): Record<string, FrameNumbers> {
	let latestMs = Number.NEGATIVE_INFINITY;
	for (const process in processes)
		latestMs = Math.max(latestMs, processes[process]!.lastSeenMs);
	const stepMs = timeMs - latestMs;
	const movedMs = Math.min(stepMs, 0) || Math.max(stepMs - mostStepMs, 0);
	if (movedMs === 0) return processes;
	return Object.fromEntries(
		Object.entries(processes).map(([process, numbers]) => [
			process,
			{
				...numbers,
				lastSeenMs: numbers.lastSeenMs + movedMs,
				holes: numbers.holes.map((gap) => ({
					...gap,
					sinceMs: gap.sinceMs + movedMs,
				})),
			},
		]),
	);
}

/**
 * Takes one frame, in the order of the stream, at its stream time.
 *
 * `repeated`: the number was stored or voided before, so the frame's events must not be taken again.
 * `overdue`: numbers that never arrived in their time, each once. Only later frames of the same process prove that: a process that died
 * may leave a number open whose senders got no answer.
 */
export function takeFrame(
	before: FrameNumbers | undefined,
	frame: { number: number; voided: readonly number[] },
	timeMs: number,
): { after: FrameNumbers; repeated: boolean; overdue: NumberGap[] } {
	const after: FrameNumbers = before
		? {
				highest: before.highest,
				holes: before.holes,
				lastSeenMs: timeMs,
			}
		: unseen(frame.number, timeMs);
	const repeated = !settle(after, frame.number, timeMs);
	for (const number of frame.voided) settle(after, number, timeMs);
	const isOlder = (gap: NumberGap, ageMs: number) =>
		timeMs - gap.sinceMs > ageMs;
	const known = before?.lostSequences
		? countedAs(before.lostSequences, before.highest, after.holes)
		: after.holes;
	const holes = known.filter(
		(gap) =>
			!(gap.beforeMemory && isOlder(gap, gapMs)) &&
			!(gap.isLost && isOlder(gap, memoryMs)),
	);
	const overdue = holes.filter((gap) => !gap.isLost && isOlder(gap, gapMs));
	after.holes = holes.map((gap) =>
		overdue.includes(gap) ? { ...gap, isLost: true as const } : gap,
	);
	return { after, repeated, overdue };
}

/** Notes that the stream has lost sequences, which any of the processes may have published. */
export function noteLost(
	processes: Record<string, FrameNumbers>,
	sequences: number,
): Record<string, FrameNumbers> {
	return Object.fromEntries(
		Object.entries(processes).map(([process, numbers]) => {
			const lostSequences = (numbers.lostSequences ?? 0) + sequences;
			return [process, { ...numbers, lostSequences }];
		}),
	);
}

/** What a shard's new stream begins with. */
export function ofEarlierStreams(
	processes: Record<string, FrameNumbers>,
): Record<string, FrameNumbers> {
	return Object.fromEntries(
		Object.entries(processes).map(([process, numbers]) => [
			process,
			{ ...numbers, isOfEarlierStream: true },
		]),
	);
}

/** Leaves out the processes that have been silent for more than {@link memoryMs} of stream time. */
export function forgetSilent(
	processes: Record<string, FrameNumbers>,
	timeMs: number,
): Record<string, FrameNumbers> {
	return Object.fromEntries(
		Object.entries(processes).filter(
			([, { lastSeenMs }]) => timeMs - lastSeenMs <= memoryMs,
		),
	);
}

/**
 * The gaps above `highest` with their first numbers marked as lost, as many as sequences are: receive publishes one frame
 * after the other, so these are the same frames, and they are counted.
 */
function countedAs(
	sequences: number,
	highest: number,
	holes: NumberGap[],
): NumberGap[] {
	let left = sequences;
	return holes.flatMap((gap) => {
		const { from, to } = gap;
		if (from <= highest || left === 0) return [gap];
		const end = Math.min(to, from + left - 1);
		left -= end - from + 1;
		const lost = { ...gap, to: end, isLost: true as const };
		return end === to ? [lost] : [lost, { ...gap, from: end + 1 }];
	});
}

function unseen(firstNumber: number, timeMs: number): FrameNumbers {
	return {
		highest: firstNumber - 1,
		holes:
			firstNumber > 1
				? [
						{
							from: 1,
							to: firstNumber - 1,
							sinceMs: timeMs,
							beforeMemory: true,
						},
					]
				: [],
		lastSeenMs: timeMs,
	};
}

/** Marks a number as stored or voided. Returns false if it was already. */
function settle(
	numbers: FrameNumbers,
	number: number,
	timeMs: number,
): boolean {
	if (number > numbers.highest) {
		if (number > numbers.highest + 1)
			numbers.holes = [
				...numbers.holes,
				{ from: numbers.highest + 1, to: number - 1, sinceMs: timeMs },
			];
		numbers.highest = number;
		return true;
	}
	const gap = numbers.holes.find(
		({ from, to }) => from <= number && number <= to,
	);
	if (!gap) return false;
	numbers.holes = numbers.holes.flatMap((other) =>
		other === gap
			? [
					{ ...gap, to: number - 1 },
					{ ...gap, from: number + 1 },
				].filter(({ from, to }) => from <= to)
			: [other],
	);
	return true;
}
