import { parseSchedule } from "../../../crds/schedule.ts";

/*
 * A scan of all minutes around a clock change, which reads only the wall clock, gives the expected slots: a wall time that
 * does not exist runs at the first instant after the gap, and one that occurs twice runs once, but in both with an hour of
 * `*` or `*` with a step.
 */

/** A cron expression's slots around a clock change, as the rule has them and as the schedule gives them. */
interface SlotsAtChange {
	cron: string;
	expected: string[];
	slots: string[];
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Fields of a cron expression that matter within a day: minutes and hours that match. */
const crons: [string, (hour: number, minute: number) => boolean][] = [
	["*/20 * * * *", (_, minute) => minute % 20 === 0],
	["0 * * * *", (_, minute) => minute === 0],
	["10,40 */2 * * *", (hour, minute) => hour % 2 === 0 && minute % 30 === 10],
	["30 2 * * *", (hour, minute) => hour === 2 && minute === 30],
	["0 0 * * *", (hour, minute) => hour === 0 && minute === 0],
	["15,45 0-3 * * *", (hour, minute) => hour < 4 && minute % 30 === 15],
	["59 1,23 * * *", (hour, minute) => hour % 22 === 1 && minute === 59],
];

/** For every clock change of a zone in these years. */
export function slotsAtChanges(
	zone: string,
	firstYear: number,
	lastYear: number,
): SlotsAtChange[] {
	const clock = wallClock(zone);
	return changesOf(clock, firstYear, lastYear).flatMap((changeMs) => {
		const fromMs = changeMs - 4 * 60 * minuteMs;
		const untilMs = changeMs + 4 * 60 * minuteMs;
		const walls = scan(clock, fromMs - dayMs / 4, untilMs);
		return crons.map(([cron, matches]) => {
			const repeats = cron.split(" ")[1]!.startsWith("*");
			const expected = naiveSlots(walls, matches, repeats)
				.filter((ms) => ms > fromMs)
				.map(iso);
			return { cron, expected, slots: slotsOf(cron, zone, fromMs, untilMs) };
		});
	});
}

interface WallMinute {
	instantMs: number;
	/** What a UTC clock that shows the same would stand for. */
	wallMs: number;
}

/**
 * A minute is a slot when clocks show a time that matches, for the first time unless it `repeats`, or have just skipped one
 * that does.
 */
function naiveSlots(
	walls: WallMinute[],
	matches: (hour: number, minute: number) => boolean,
	repeats: boolean,
): number[] {
	const matchesWall = (wallMs: number) => {
		const wall = new Date(wallMs);
		return matches(wall.getUTCHours(), wall.getUTCMinutes());
	};
	let latestMs = walls[0]!.wallMs;
	return walls.slice(1).flatMap(({ instantMs, wallMs }) => {
		const news: number[] = [];
		for (let ms = latestMs + minuteMs; ms <= wallMs; ms += minuteMs)
			news.push(ms);
		latestMs = Math.max(latestMs, wallMs);
		const isSlot = news.some(matchesWall) || (repeats && matchesWall(wallMs));
		return isSlot ? [instantMs] : [];
	});
}

function scan(
	clock: (instantMs: number) => number,
	fromMs: number,
	untilMs: number,
): WallMinute[] {
	const minutes: WallMinute[] = [];
	for (let instantMs = fromMs; instantMs <= untilMs; instantMs += minuteMs)
		minutes.push({ instantMs, wallMs: clock(instantMs) });
	return minutes;
}

function slotsOf(
	cron: string,
	timeZone: string,
	fromMs: number,
	untilMs: number,
): string[] {
	const parsed = parseSchedule({ type: "Cron", cron, timeZone });
	if (!("schedule" in parsed)) throw new Error(parsed.problem.message);
	const slots: string[] = [];
	for (let ms = fromMs; ; ) {
		ms = parsed.schedule!.next(ms);
		if (ms > untilMs) return slots;
		slots.push(iso(ms));
	}
}

/** The first minutes at which clocks are off by another amount than before. */
function changesOf(
	clock: (instantMs: number) => number,
	firstYear: number,
	lastYear: number,
): number[] {
	const offsetAt = (ms: number) => clock(ms) - ms;
	const changes: number[] = [];
	const end = Date.UTC(lastYear + 1, 0);
	for (let ms = Date.UTC(firstYear, 0); ms < end; ms += dayMs) {
		if (offsetAt(ms) === offsetAt(ms + dayMs)) continue;
		let [before, after] = [ms, ms + dayMs];
		while (after - before > minuteMs) {
			const middle =
				before + Math.floor((after - before) / 2 / minuteMs) * minuteMs;
			if (offsetAt(middle) === offsetAt(before)) before = middle;
			else after = middle;
		}
		changes.push(after);
	}
	return changes;
}

function wallClock(timeZone: string): (instantMs: number) => number {
	// Swedish dates are ISO 8601's.
	const format = new Intl.DateTimeFormat("sv-SE", {
		timeZone,
		dateStyle: "short",
		timeStyle: "medium",
	});
	// A zone's offset changes on a quarter of an hour only, so format one instant of each.
	const offsets = new Map<number, number>();
	return (instantMs) => {
		const quarterMs = instantMs - (instantMs % (15 * minuteMs));
		let offsetMs = offsets.get(quarterMs);
		if (offsetMs === undefined) {
			const wall = format.format(quarterMs).replace(" ", "T");
			offsetMs = Date.parse(`${wall}Z`) - quarterMs;
			offsets.set(quarterMs, offsetMs);
		}
		return instantMs + offsetMs;
	};
}

function iso(ms: number): string {
	return new Date(ms).toISOString();
}
