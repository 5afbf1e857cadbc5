// cron-parser: parses cron expressions. Used in UTC only, to avoid its daylight-saving bugs (issues 378 and 404).
import { CronExpressionParser } from "cron-parser";
import type { PipelineSchedule } from "./generated/types.ts";
import {
	goesBackMs,
	instantsOfWallTime,
	isTimeZone,
	wallTimeAt,
	zoneForm,
} from "./wall-clock.ts";

/** When a Pipeline runs. A slot is an instant on a whole minute. Instants are in milliseconds since the epoch. */
export interface Schedule {
	/** What it was made of. Two schedules with the same rule have the same slots. */
	rule: string;
	/** The first slot after an instant. */
	next(afterMs: number): number;
}

export interface ScheduleProblem {
	reason: "InvalidTimeZone" | "InvalidSchedule";
	message: string;
}

export type ParsedSchedule =
	| { schedule: Schedule | undefined }
	| { problem: ScheduleProblem };

/** The schedule of a spec, undefined for `Manual`; or what is wrong with it that the CRD can't check. */
export function parseSchedule(spec: PipelineSchedule): ParsedSchedule {
	if (spec.type === "Manual") return { schedule: undefined };
	if (spec.type === "Interval")
		return { schedule: everyInterval(spec.interval!) };
	const cron =
		spec.type === "Daily" ? dailyCron(spec.updateTime!) : spec.cron!.trim();
	const { timeZone = "UTC" } = spec;
	const key = `${cron}\n${timeZone}`;
	const known = parsed.get(key);
	if (known) return known;
	if (parsed.size >= parsedMax) parsed.clear();
	const result = parseCron(cron, timeZone);
	parsed.set(key, result);
	return result;
}

/** A Pipeline is looked at many times, and cron-parser takes half a millisecond for an expression and its next time. */
const parsed = new Map<string, ParsedSchedule>();
const parsedMax = 10_000;

function parseCron(cron: string, timeZone: string): ParsedSchedule {
	if (!isTimeZone(timeZone))
		return {
			problem: {
				reason: "InvalidTimeZone",
				message: `spec.schedule.timeZone is "${timeZone}". It ${zoneForm}.`,
			},
		};
	const fault = cronFault(cron);
	return fault === undefined
		? { schedule: remembering(byCron(cron, timeZone)) }
		: {
				problem: {
					reason: "InvalidSchedule",
					message: `spec.schedule.cron is "${cron}": ${fault}. It ${cronForm}.`,
				},
			};
}

/** The same schedule. Until the slot that it found last it finds that one, so it doesn't look for it again. */
function remembering({ rule, next }: Schedule): Schedule {
	let [fromMs, slot] = [0, 0];
	return {
		rule,
		next: (afterMs) => {
			if (afterMs < fromMs || afterMs >= slot)
				[fromMs, slot] = [afterMs, next(afterMs)];
			return slot;
		},
	};
}

/** The latest slot after `afterMs` and not after `untilMs`. If several slots were missed, it runs for all of them. */
export function latestSlot(
	schedule: Schedule,
	afterMs: number,
	untilMs: number,
): number | undefined {
	// The steps back grow, since an outage may span many slots of a dense schedule.
	for (let backMs = hourMs; ; backMs *= 24) {
		const fromMs = Math.max(afterMs, untilMs - backMs);
		let latest: number | undefined;
		let slot = schedule.next(fromMs);
		while (slot <= untilMs) {
			latest = slot;
			slot = schedule.next(slot);
		}
		if (latest !== undefined || fromMs === afterMs) return latest;
	}
}

/** How many Runs a schedule makes on a day on which it runs. {@link parseSchedule} must have found no problem. */
export function runsPerDay(spec: PipelineSchedule): number {
	switch (spec.type) {
		case "Manual":
			return 0;
		case "Daily":
			return 1;
		case "Interval":
			return Math.ceil((24 * hourMs) / durationMs(spec.interval!));
		case "Cron": {
			const { minute, hour } = CronExpressionParser.parse(spec.cron!).fields;
			return minute.values.length * hour.values.length;
		}
	}
}

const hourMs = 3_600_000;

/** Slots are multiples of the interval since the epoch, so that restarts and other edits don't shift them. */
function everyInterval(interval: string): Schedule {
	const intervalMs = durationMs(interval);
	return {
		rule: `every ${intervalMs} ms`,
		next: (afterMs) => (Math.floor(afterMs / intervalMs) + 1) * intervalMs,
	};
}

function dailyCron(updateTime: string): string {
	const [hour, minute] = updateTime.split(":").map(Number);
	return `${minute} ${hour} * * *`;
}

/**
 * As cron(8) of Debian and cronie do: when the clocks go back, a fixed hour runs once, in its first occurrence, and an hour
 * of `*` or `*` with a step runs in both.
 */
function byCron(cron: string, timeZone: string): Schedule {
	const isEveryHour = /^\S+\s+[*?](\/\d+)?\s/.test(cron);
	/** The first slot after the instant, if each wall time counts in one occurrence alone. */
	const nextOf = (
		occurrence: "first" | "last",
		afterMs: number,
		afterWallMs: number,
	) => {
		const walls = wallSlots(cron, afterWallMs);
		// Skipped wall times map to one instant, and others to an occurrence that may be past.
		for (;;) {
			const wallMs = walls.next().getTime();
			const slot = instantsOfWallTime(wallMs, timeZone)[occurrence];
			if (slot > afterMs) return slot;
		}
	};
	return {
		rule: `${cron} ${timeZone}`,
		next: (afterMs) => {
			const wallMs = wallTimeAt(afterMs, timeZone);
			const first = nextOf("first", afterMs, wallMs);
			if (!isEveryHour) return first;
			const fromMs = wallMs - goesBackMs(afterMs, timeZone);
			return Math.min(first, nextOf("last", afterMs, fromMs));
		},
	};
}

function wallSlots(cron: string, afterWallMs: number) {
	return CronExpressionParser.parse(cron, {
		currentDate: new Date(afterWallMs),
		tz: "UTC",
	});
}

export const cronForm =
	'must have five fields (minute, hour, day of month, month, day of week), such as "30 6 * * 1-5"';

/** The fields of a cron expression, each with how many values it can have. */
const cronFields = [
	["minute", 60],
	["hour", 24],
	["day of month", 31],
	["month", 12],
	["day of week", 7],
] as const;

/** Why this is not a cron expression of five fields, or never matches; undefined if it is fine. */
export function cronFault(cron: string): string | undefined {
	const fields = cron.split(/\s+/);
	if (fields.length !== 5)
		return `it has ${fields.length} field${fields.length === 1 ? "" : "s"}`;
	// An extension of cron-parser: H is a random value.
	if (fields.some((field) => /(^|[,/])h\b/i.test(field)))
		return "H is not supported";
	for (const [index, [name, values]] of cronFields.entries()) {
		const steps = fields[index]!.matchAll(/\/(\d+)/g);
		const step = steps.map(([, step]) => Number(step)).find((n) => n > values);
		// cron-parser takes it, and means the first value alone: */61 would run once an hour.
		if (step !== undefined)
			return `the ${name} has ${values} values, so a step of ${step} is too long`;
	}
	try {
		wallSlots(cron, 0).next();
		return undefined;
	} catch (error) {
		const { message } = error as Error;
		return /loop limit|time span|explicit day/.test(message)
			? "it never matches a date"
			: message
					.replace(
						/^Constraint error, got value (\S+) expected range (\S+)-(\S+)$/,
						"$1 is not between $2 and $3",
					)
					.replace(/^[A-Z]/, (letter) => letter.toLowerCase());
	}
}

/** A duration as specs write it, such as `1h30m`, in milliseconds. The CRDs check its form. */
export function durationMs(text: string): number {
	const [, hours = "0", minutes = "0"] =
		/^(?:(\d+)h)?(?:(\d+)m)?$/.exec(text) ?? [];
	return (Number(hours) * 60 + Number(minutes)) * 60_000;
}
