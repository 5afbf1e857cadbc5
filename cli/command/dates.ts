// Typed by its flags and arguments; see group.ts.
import { Option } from "@commander-js/extra-typings";
import { addDays, utcDate } from "../../packages/contracts/utc-date.ts";
import { UsageError } from "./errors.ts";

/** Options for UTC dates. */
export const fromOption = new Option(
	"--from <date>",
	"the first UTC date, such as 2026-01-31",
);
export const toOption = new Option("--to <date>", "the last UTC date");
export const daysOption = new Option(
	"--days <n>",
	"the last n UTC dates, today included",
).conflicts(["from", "to"]);

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
