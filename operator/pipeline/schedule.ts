// cron-parser: cron's grammar. It is only ever asked in UTC, where its daylight-saving bugs (issues 378, 404) can't show.
import { CronExpressionParser } from "cron-parser";
import type { PipelineSchedule } from "../../crds/generated/types.ts";
import type { Reason } from "../reconcile/reasons.ts";
import { instantOfWallTime, isTimeZone, wallTimeAt } from "./wall-clock.ts";

/** When a Pipeline runs by the clock. A slot is an instant on a whole minute, in milliseconds since the epoch. */
export interface Schedule {
	/** The first slot after an instant. */
	next(afterMs: number): number;
}

export type ScheduleProblem = { reason: Reason<"Pipeline">; message: string };

/** The schedule that a spec asks for; undefined for `Manual`. What the CRD can't judge is a problem, in words for people. */
export function parseSchedule(
	spec: PipelineSchedule,
): { schedule: Schedule | undefined } | { problem: ScheduleProblem } {
	if (spec.type === "Manual") return { schedule: undefined };
	if (spec.type === "Interval")
		return { schedule: everyInterval(spec.interval!) };
	if (!isTimeZone(spec.timeZone))
		return {
			problem: {
				reason: "InvalidTimeZone",
				message: `spec.schedule.timeZone is "${spec.timeZone}". It must be an IANA time zone, such as Europe/Berlin.`,
			},
		};
	const cron =
		spec.type === "Daily" ? dailyCron(spec.updateTime!) : spec.cron!.trim();
	const fault = cronFault(cron);
	return fault === undefined
		? { schedule: byCron(cron, spec.timeZone) }
		: {
				problem: {
					reason: "InvalidSchedule",
					message: `spec.schedule.cron is "${cron}": ${fault}. It must have five fields (minute, hour, day of month, month, day of week), such as "30 6 * * 1-5".`,
				},
			};
}

/** The latest slot after `afterMs` and not after `untilMs`. Of several that were missed, it stands for all (design §6). */
export function latestSlot(
	schedule: Schedule,
	afterMs: number,
	untilMs: number,
): number | undefined {
	// Looking back in steps that grow, since an outage may span many slots of a dense schedule.
	for (let backMs = 2 * hourMs; ; backMs *= 24) {
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

/** Runs that a schedule makes on a day on which it runs; of one that {@link parseSchedule} has taken. */
export function runsPerDay(spec: PipelineSchedule): number {
	switch (spec.type) {
		case "Manual":
			return 0;
		case "Daily":
			return 1;
		case "Interval":
			return Math.ceil((24 * hourMs) / intervalMsOf(spec.interval!));
		case "Cron": {
			const { minute, hour } = CronExpressionParser.parse(spec.cron!).fields;
			return minute.values.length * hour.values.length;
		}
	}
}

const minuteMs = 60_000;
const hourMs = 3_600_000;

/** Slots are multiples since the epoch, so that a restart or an edit elsewhere doesn't shift them. */
function everyInterval(interval: string): Schedule {
	const intervalMs = intervalMsOf(interval);
	return {
		next: (afterMs) => (Math.floor(afterMs / intervalMs) + 1) * intervalMs,
	};
}

function intervalMsOf(interval: string): number {
	const [, hours = "0", minutes = "0"] =
		/^(?:(\d+)h)?(?:(\d+)m)?$/.exec(interval) ?? [];
	return Number(hours) * hourMs + Number(minutes) * minuteMs;
}

function dailyCron(updateTime: string): string {
	const [hour, minute] = updateTime.split(":").map(Number);
	return `${minute} ${hour} * * *`;
}

function byCron(cron: string, timeZone: string): Schedule {
	return {
		next: (afterMs) => {
			const walls = wallSlots(cron, wallTimeAt(afterMs, timeZone));
			// A wall time that occurs a second time is over already, and those that are skipped fall together.
			for (;;) {
				const slot = instantOfWallTime(walls.next().getTime(), timeZone);
				if (slot > afterMs) return slot;
			}
		},
	};
}

function wallSlots(cron: string, afterWallMs: number) {
	return CronExpressionParser.parse(cron, {
		currentDate: new Date(afterWallMs),
		tz: "UTC",
	});
}

/** Why this isn't a cron expression of five fields that ever comes; undefined if it is. */
function cronFault(cron: string): string | undefined {
	const fields = cron.split(/\s+/);
	if (fields.length !== 5)
		return `it has ${fields.length} field${fields.length === 1 ? "" : "s"}`;
	// cron-parser takes more than cron does: H stands for a random value there.
	if (fields.some((field) => /(^|[,/])h\b/i.test(field)))
		return "H is not known here";
	try {
		wallSlots(cron, 0).next();
		return undefined;
	} catch (error) {
		const { message } = error as Error;
		return /loop limit|time span|explicit day/.test(message)
			? "it names a date that never comes"
			: message.charAt(0).toLowerCase() + message.slice(1);
	}
}
