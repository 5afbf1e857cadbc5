// cron-parser: the operator has it, too.
import { CronExpressionParser } from "cron-parser";
import type { PipelineSchedule } from "../../crds/generated/types.ts";
import {
	cronFault,
	cronForm,
	durationMs,
	parseSchedule,
} from "../../crds/schedule.ts";
import { isTimeZone, zoneForm } from "../../crds/wall-clock.ts";
import { schedules as words } from "../messages/pipelines.ts";
import { type Draft, textAt, valueAt, withField } from "../resource/draft.ts";

export type ScheduleType = "Manual" | "Daily" | "Interval" | "Cron";

export const scheduleTypes: readonly ScheduleType[] = [
	...(["Manual", "Daily", "Interval", "Cron"] as const),
];

export function scheduleType({ spec }: Draft): ScheduleType {
	const type = valueAt(spec, "schedule.type");
	return scheduleTypes.find((one) => one === type) ?? "Manual";
}

/** The schedule as texts, whatever somebody has pasted. */
export function scheduleOf(draft: Draft): Partial<PipelineSchedule> {
	const fields = ["updateTime", "interval", "cron", "timeZone"].flatMap(
		(field) => {
			const text = textAt(draft.spec, `schedule.${field}`);
			return text === "" ? [] : [[field, text]];
		},
	);
	return { type: scheduleType(draft), ...Object.fromEntries(fields) };
}

/** Another type of schedule, with an example of what that type needs, and without what it doesn't take. */
export function withScheduleType(draft: Draft, type: ScheduleType): Draft {
	const timeZone = textAt(draft.spec, "schedule.timeZone");
	const own = {
		Manual: {},
		Daily: { updateTime: "06:00" },
		Interval: { interval: "1h" },
		Cron: { cron: "0 6 * * 1-5" },
	}[type];
	const hasZone = type === "Daily" || type === "Cron";
	return withField(draft, "schedule", {
		type,
		...own,
		...(hasZone && timeZone !== "" && { timeZone }),
	});
}

export interface ScheduleFault {
	path: string;
	message: string;
}

/** What the schedule of a form says: its next times, by the operator's own code, or what is wrong. */
export function scheduleOutlook(
	spec: Partial<PipelineSchedule>,
	now: number,
	count = 5,
): { times: number[] } | { fault: ScheduleFault } {
	const fault = faultOf(spec);
	if (fault) return { fault };
	const parsed = parseSchedule(spec as PipelineSchedule);
	if ("problem" in parsed)
		return { fault: { path: "schedule", message: parsed.problem.message } };
	const times: number[] = [];
	for (let at = now; parsed.schedule && times.length < count; ) {
		at = parsed.schedule.next(at);
		times.push(at);
	}
	return { times };
}

function faultOf({
	type,
	updateTime,
	interval,
	cron,
	timeZone,
}: Partial<PipelineSchedule>): ScheduleFault | undefined {
	const fault = (field: string, message: string) => ({
		path: `schedule.${field}`,
		message,
	});
	if (type === "Daily" && !/^([01]\d|2[0-3]):[0-5]\d$/.test(updateTime ?? ""))
		return fault("updateTime", words.updateTimeForm);
	if (type === "Interval") {
		const ms = /^(\d{1,2}h)?(\d{1,4}m)?$/.test(interval ?? "")
			? durationMs(interval!)
			: 0;
		if (ms < 60_000 || ms > 24 * 3_600_000)
			return fault("interval", words.intervalForm);
	}
	if (type === "Cron") {
		const reason = cronFault((cron ?? "").trim());
		if (reason !== undefined)
			return fault("cron", words.cronFault(reason, cronForm));
	}
	if ((type === "Daily" || type === "Cron") && timeZone !== undefined)
		if (!isTimeZone(timeZone)) return fault("timeZone", zoneForm);
	return undefined;
}

/** An instant by the clocks of a zone, for a list of times. */
export function wallText(
	atMs: number,
	timeZone: string,
	locale = words.locale,
): string {
	return new Intl.DateTimeFormat(locale, {
		timeZone,
		weekday: "short",
		year: "numeric",
		month: "short",
		day: "numeric",
		hour: "2-digit",
		minute: "2-digit",
		hourCycle: "h23",
		timeZoneName: "short",
	}).format(atMs);
}

/** A valid cron expression of five fields in words; undefined where words would be longer than the expression helps. */
export function cronWords(cron: string): string | undefined {
	if (cronFault(cron.trim()) !== undefined || /[L#W]/i.test(onlySigns(cron)))
		return undefined;
	const { minute, hour, dayOfMonth, month, dayOfWeek } =
		CronExpressionParser.parse(cron.trim()).fields;
	const time = timeWords(numbers(minute.values), numbers(hour.values));
	const days = numbers(dayOfMonth.values);
	const weekdays = [
		...new Set(numbers(dayOfWeek.values).map((day) => day % 7)),
	];
	const months = numbers(month.values);
	const everyDay = days.length === 31;
	const everyWeekday = weekdays.length === 7;
	const ofMonth = words.daysOfMonth(listed(days.map(String)));
	const ofWeek = weekdayWords(weekdays);
	const day =
		everyDay && everyWeekday
			? words.everyDay
			: everyWeekday
				? ofMonth
				: everyDay
					? ofWeek
					: // As cron does: either of the two is enough.
						words.eitherDay(ofMonth, ofWeek);
	const inMonths =
		months.length === 12
			? undefined
			: listed(months.map((one) => words.months[one - 1]!));
	return words.cron(time, day, inMonths);
}

function onlySigns(cron: string): string {
	return cron.replace(
		/\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)\b/gi,
		"",
	);
}

function numbers(values: readonly (number | string)[]): number[] {
	return values.map(Number).sort((a, b) => a - b);
}

function timeWords(minutes: number[], hours: number[]): string {
	const everyHour = hours.length === 24;
	const step = stepOf(minutes, 60);
	const hourStep = stepOf(hours, 24);
	const minuteWords =
		minutes.length === 60
			? words.everyMinute
			: step !== undefined && minutes[0] === 0
				? words.everyMinutes(step)
				: undefined;
	if (everyHour)
		return (
			minuteWords ??
			words.everyHour(listed(minutes.map((one) => `:${two(one)}`)))
		);
	if (minuteWords !== undefined)
		return words.within(
			minuteWords,
			listed(
				spans(hours).map(([from, to]) =>
					words.span(`${two(from)}:00`, `${two(to)}:59`),
				),
			),
		);
	if (hourStep !== undefined && hours[0] === 0 && minutes.length === 1)
		return words.everyHours(hourStep, `:${two(minutes[0]!)}`);
	const times = hours.flatMap((hour) =>
		minutes.map((minute) => `${two(hour)}:${two(minute)}`),
	);
	return times.length <= 6
		? words.atTimes(listed(times))
		: words.timesADay(times.length, words.span(times[0]!, times.at(-1)!));
}

/** The step of values that are spread evenly over all of a unit, such as 15 for 0, 15, 30, 45. */
function stepOf(values: number[], size: number): number | undefined {
	const step = values.length > 1 ? values[1]! - values[0]! : 0;
	return step > 1 &&
		size % step === 0 &&
		values.length === size / step &&
		values.every((value, at) => value === values[0]! + at * step)
		? step
		: undefined;
}

function weekdayWords(days: number[]): string {
	const monday = days.map((day) => (day + 6) % 7).sort((a, b) => a - b);
	const { weekdays } = words;
	return words.onWeekdays(
		listed(
			spans(monday).flatMap(([from, to]) =>
				to - from > 1
					? [words.span(weekdays[from]!, weekdays[to]!)]
					: from === to
						? [weekdays[from]!]
						: [weekdays[from]!, weekdays[to]!],
			),
		),
	);
}

/** First and last of each row of neighbours. */
function spans(values: number[]): [number, number][] {
	const found: [number, number][] = [];
	for (const value of values) {
		const last = found.at(-1);
		if (last && value === last[1] + 1) last[1] = value;
		else found.push([value, value]);
	}
	return found;
}

function two(value: number): string {
	return String(value).padStart(2, "0");
}

function listed(items: readonly string[]): string {
	return new Intl.ListFormat(words.locale).format(items);
}
