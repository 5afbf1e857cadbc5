/** What is known of the frame numbers of one receive process. JSON, since it stands in every cut record. */
export interface FrameNumbers {
	/** The highest number stored or voided. */
	highest: number;
	/** Numbers up to `highest` that were neither stored nor voided yet, ascending. */
	holes: Hole[];
	/** Stream time of the process's latest frame, milliseconds since the epoch. */
	lastSeenMs: number;
}

/** Numbers from..to, both included. */
export interface Hole {
	from: number;
	to: number;
	/** Stream time of the frame that showed the hole. */
	sinceMs: number;
	/**
	 * The hole lies before the first frame that archive remembers of this process: it may be numbers of a stream
	 * before this one, or ones that were forgotten. They may still come, but their absence proves nothing.
	 */
	beforeMemory?: true;
}

/**
 * How long a hole may stay open while its process goes on: a number is stored or voided within 60 s of being given
 * out, and a frame that was put together before then is stored within another 60 s (design §4); a minute more for clocks.
 */
export const holeMs = 3 * 60_000;

/** Stream time after which a silent process is forgotten; a frame is repeated for 60 s at most. */
export const memoryMs = 10 * 60_000;

/**
 * Takes one frame, in the order of the stream, at its stream time.
 *
 * `repeated`: this number was stored or voided before, so the frame's events must not be taken again.
 * `gaps`: numbers that should have been stored or voided by now. Only the process's own later frames prove a gap: one
 * that died may have left a number open that no sender was given an answer for.
 */
export function takeFrame(
	before: FrameNumbers | undefined,
	frame: { number: number; voided: readonly number[] },
	timeMs: number,
): { after: FrameNumbers; repeated: boolean; gaps: Hole[] } {
	const after: FrameNumbers = before
		? {
				highest: before.highest,
				holes: before.holes,
				lastSeenMs: Math.max(before.lastSeenMs, timeMs),
			}
		: unseen(frame.number, timeMs);
	const repeated = !settle(after, frame.number, timeMs);
	for (const number of frame.voided) settle(after, number, timeMs);
	const isDue = (hole: Hole) => timeMs - hole.sinceMs > holeMs;
	after.holes = after.holes.filter(
		(hole) => !(hole.beforeMemory && isDue(hole)),
	);
	return { after, repeated, gaps: after.holes.filter(isDue) };
}

/** Without the processes that have been silent for {@link memoryMs} of stream time. */
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

/** Marks a number as stored or voided. False when it was already. */
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
	const hole = numbers.holes.find(
		({ from, to }) => from <= number && number <= to,
	);
	if (!hole) return false;
	numbers.holes = numbers.holes.flatMap((other) =>
		other === hole
			? [
					{ ...hole, to: number - 1 },
					{ ...hole, from: number + 1 },
				].filter(({ from, to }) => from <= to)
			: [other],
	);
	return true;
}
