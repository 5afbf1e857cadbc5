/**
 * What a receive process says of a stream that it has left, in the header `Tidemill-Left` of the first frames that it publishes
 * afterwards: which frames it has stored there that archive may not have taken. Only archive can tell which of them are lost.
 * An archive that doesn't know the header counts as before.
 */
export interface LeftFrames {
	stream: string;
	/** Who numbered the frames. */
	process: string;
	/** The sequence of its last frame there. All that was stored before it, by whomever, has one up to this. */
	lastSequence: number;
	/** Ascending. Archive may have some of them; empty if it has all. */
	ranges: NumberRange[];
	/** When receive had stored the frame before the first of them, or that one, and when the last; milliseconds since the epoch. */
	sinceMs: number;
	untilMs: number;
}

/** Numbers from..to, both included. */
export type NumberRange = readonly [from: number, to: number];

export const leftHeader = "Tidemill-Left";

/** A value of the header has so many ranges at most, 1.7 KiB. */
export const maxLeftRanges = 50;

export function leftValue(left: LeftFrames): string {
	const { stream, process, lastSequence, sinceMs, untilMs, ranges } = left;
	const list = ranges.map(([from, to]) => `${from}-${to}`).join(",");
	return [stream, process, lastSequence, sinceMs, untilMs, list || "none"].join(
		" ",
	);
}

const form =
	/^(\S{1,255}) ([0-9a-f]{32}) (\d{1,15}) (\d{1,15}) (\d{1,15}) (none|\d{1,15}-\d{1,15}(?:,\d{1,15}-\d{1,15})*)$/;

/** What isn't a value of the header is left out: what is said of a loss is never a reason to lose an event. */
export function readLeft(values: readonly string[]): LeftFrames[] {
	return values.flatMap((value) => {
		const [, stream, process, ...numbers] = form.exec(value) ?? [];
		const list = numbers.pop();
		if (!stream || !process || !list) return [];
		const ranges =
			list === "none"
				? []
				: list.split(",").map((range) => {
						const [from, to] = range.split("-").map(Number);
						return [from!, to!] as const;
					});
		const [lastSequence, sinceMs, untilMs] = numbers.map(Number);
		return [
			{
				...{ stream, process, ranges, lastSequence: lastSequence! },
				...{ sinceMs: sinceMs!, untilMs: untilMs! },
			},
		];
	});
}
