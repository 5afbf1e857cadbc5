// Typed by its flags and arguments; see group.ts.
import { Option } from "@commander-js/extra-typings";
import { addDays, utcDate } from "../../packages/contracts/utc-date.ts";
import { UsageError } from "./errors.ts";

/** Options for UTC dates. */
export const fromOption = new Option(
	"--from <date>",
	"the first UTC date, such as 2026-01-31, yesterday or 7d (ago)",
).argParser((text) => dateIn(text));
export const toOption = new Option(
	"--to <date>",
	"the last UTC date",
).argParser((text) => dateIn(text));
export const daysOption = new Option(
	"--days <n>",
	"the last n UTC dates, today included",
).conflicts(["from", "to"]);

/** An option for a time; `what` says of which events. */
export const timeOption = <Flags extends string>(flags: Flags, what: string) =>
	new Option(
		flags,
		`${what}, such as 2026-03-01T12:00:00Z, 2h (ago) or yesterday`,
	).argParser((text) => timeIn(text));

/** The `dates` of a spec, by the options above. Throws {@link UsageError}. */
export function datesOf({
	from,
	to,
	days,
}: {
	from?: string | undefined;
	to?: string | undefined;
	days?: string | undefined;
}): { dates?: { start: string; end: string } } {
	if ((from === undefined) !== (to === undefined))
		throw new UsageError("--from and --to must be used together");
	if (days !== undefined) {
		const count = /^\d{1,4}$/.test(days) ? Number(days) : 0;
		if (count === 0)
			throw new UsageError(`--days is "${days}", but must be a number from 1`);
		const today = utcDate(Date.now());
		return { dates: { start: addDays(today, 1 - count), end: today } };
	}
	return from === undefined ? {} : { dates: { start: from, end: to! } };
}

const unitMs = {
	s: 1_000,
	m: 60_000,
	h: 3_600_000,
	d: 86_400_000,
	w: 604_800_000,
} as const;

/**
 * The time that a person names: `2h` or `30m` ago, `now`, and of `today` and `yesterday` the UTC date, which the API takes for its first or its last
 * instant. Anything else as it is, since the API says what is right.
 */
export function timeIn(text: string, nowMs = Date.now()): string {
	const agoMs = msAgo(text);
	return agoMs === undefined
		? dateIn(text, nowMs)
		: new Date(nowMs - agoMs).toISOString();
}

/** The UTC date that a person names, like {@link timeIn}. */
export function dateIn(text: string, nowMs = Date.now()): string {
	const today = utcDate(nowMs);
	if (text === "today") return today;
	if (text === "yesterday") return addDays(today, -1);
	const agoMs = msAgo(text);
	return agoMs === undefined ? text : utcDate(nowMs - agoMs);
}

function msAgo(text: string): number | undefined {
	if (text === "now") return 0;
	const [, count, unit] = /^(\d{1,5})([smhdw])$/.exec(text) ?? [];
	return unit === undefined
		? undefined
		: Number(count) * unitMs[unit as keyof typeof unitMs];
}
