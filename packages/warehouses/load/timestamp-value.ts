import type { TimestampFormat } from "../../contracts/job.ts";
import { startOfDate } from "../../contracts/utc-date.ts";
import { numberForm } from "../../json/json-reader.ts";

/** An instant in the years 1 to 9999 of UTC, which every warehouse has, as text that SQL casts to a TIMESTAMPTZ. */
export interface TimestampValue {
	value: string;
	/** Whether the text says it, but programs may read another one. */
	isOdd?: boolean;
}

/**
 * What a column has for a text of the body; undefined for what isn't of its format. Digits after microseconds are cut off
 * towards the past, since rounding could reach another day.
 * @param text a string's characters, or a number as it is written.
 */
export function timestampValue(
	text: string,
	column: TimestampFormat,
): TimestampValue | undefined {
	switch (column.format) {
		case undefined:
			return rfc3339(text);
		case "UnixSeconds":
		case "UnixMillis":
			return sinceEpoch(text, column.format);
		case "RFC2822":
			return rfc2822(text);
		case "Local":
			return local(text, column.timeZone);
	}
}

/** @param fraction Digits after the seconds' point, any number of them. */
function instant(
	seconds: number,
	fraction: string,
): TimestampValue | undefined {
	if (!(seconds >= firstSecond && seconds <= lastSecond)) return undefined;
	const [date, time] = new Date(seconds * 1000).toISOString().split("T");
	const digits = fraction.slice(0, 6).padEnd(6, "0");
	return { value: `${date} ${time!.slice(0, 8)}.${digits}+00` };
}

const firstSecond = Date.parse("0001-01-01T00:00:00Z") / 1000;
const lastSecond = Date.parse("9999-12-31T23:59:59Z") / 1000;

const dateTime =
	/^(\d{4}-\d\d-\d\d)[Tt\s](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(.*)$/s;

/** Seconds since the epoch, if the clock stands in UTC. A leap second (RFC 3339 §5.7) is the next second, and 24:00 (ISO 8601) the next day's midnight. */
function wallSeconds(
	date: string,
	[hour, minute, second]: [number, number, number],
	fraction = "",
): number | undefined {
	const isNextDay =
		hour === 24 && minute === 0 && second === 0 && !/[^0]/.test(fraction);
	if (minute > 59 || second > 60 || (hour > 23 && !isNextDay)) return undefined;
	if (!isDate(date)) return undefined;
	return startOfDate(date) / 1000 + (hour * 60 + minute) * 60 + second;
}

/** RFC 3339 §5.6, and what senders write besides: no seconds, and offsets without a colon or without minutes. */
function rfc3339(text: string): TimestampValue | undefined {
	const [, date, hour, minute, second = "00", fraction = "", zone] =
		dateTime.exec(text) ?? [];
	if (date === undefined) return undefined;
	const found = /^(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)$/.exec(zone!);
	const [, sign, hours = 0, minutes = 0] = found ?? [];
	if (!found || +hours > 23 || +minutes > 59) return undefined;
	const seconds = wallSeconds(date, [+hour!, +minute!, +second], fraction);
	if (seconds === undefined) return undefined;
	const offset = (+hours * 60 + +minutes) * (sign === "-" ? -60 : 60);
	return instant(seconds - offset, fraction);
}

/** By the digits, since a number of JavaScript has 53 bits. */
function sinceEpoch(
	text: string,
	format: keyof typeof units,
): TimestampValue | undefined {
	const { scale, isOther } = units[format];
	const [, sign, whole, fraction = "", exponent = "0"] =
		numberForm.exec(text) ?? [];
	if (whole === undefined) return undefined;
	const all = whole + fraction;
	const zeros = all.search(/[1-9]/);
	if (zeros < 0) return instant(0, "");
	/** Of whole microseconds. */
	const digits = whole.length - zeros + Number(exponent) + scale;
	if (digits > maxMicroDigits) return undefined;
	const kept = Math.max(0, digits);
	const written = all.slice(zeros).padEnd(kept, "0");
	const micros = BigInt(written.slice(0, kept));
	const isCut = /[^0]/.test(written.slice(kept));
	const since = sign === "-" ? -micros - (isCut ? 1n : 0n) : micros;
	const rest = ((since % second) + second) % second;
	const seconds = Number((since - rest) / second);
	const found = instant(seconds, String(rest).padStart(6, "0"));
	return found && { ...found, ...(isOther(seconds) && { isOdd: true }) };
}

const second = 1_000_000n;

/**
 * By format, how many of the digits after the point are whole microseconds, and whether a time, in seconds, was likelier written in the
 * other unit. Nobody can be sure of one value, so it stays what its format says, and a column that is full of them shows.
 */
const units = {
	// The milliseconds of 1973 to 1978, as seconds; later ones are beyond the year 9999, which itself stands for "never".
	UnixSeconds: {
		scale: 6,
		isOther: (seconds: number) =>
			seconds >= 1e11 && seconds < Date.parse("9999-01-01T00:00:00Z") / 1000,
	},
	// The seconds of 1973 to 2286, and of as long before 1970. Small numbers stand for nothing or are lengths of time.
	UnixMillis: {
		scale: 3,
		isOther: (seconds: number) =>
			Math.abs(seconds) >= 1e5 && Math.abs(seconds) < 1e7,
	},
};
/** The year 9999 ends 2.5e17 microseconds after the epoch. */
const maxMicroDigits = 18;

/**
 * RFC 2822 §3.3 and §4.3 (now RFC 5322): a date of mails, with comments, years of two and three digits, and North America's
 * zones by name. A day of the week must be the date's. Of other names and of military letters nobody knows which zone their
 * sender meant (§4.3), and so they don't fit.
 */
function rfc2822(text: string): TimestampValue | undefined {
	const found = mailDate.exec(withoutComments(text) ?? "");
	if (!found) return undefined;
	const [, weekday, day, month, year, hour, minute, second = "00"] = found;
	const [zone, sign, hours = 0, minutes = 0] = found.slice(8);
	const number = months.indexOf(month!.toLowerCase()) + 1;
	const date = [
		String(fullYear(year!)).padStart(4, "0"),
		String(number).padStart(2, "0"),
		day!.padStart(2, "0"),
	].join("-");
	const offset =
		sign === undefined
			? zoneHours[zone!.toUpperCase()]! * 3600
			: (+hours * 60 + +minutes) * (sign === "-" ? -60 : 60);
	if (+hour! > 23 || +minutes > 59) return undefined;
	const seconds = wallSeconds(date, [+hour!, +minute!, +second]);
	if (seconds === undefined) return undefined;
	const named = weekdays[new Date(startOfDate(date)).getUTCDay()];
	if (weekday !== undefined && weekday.toLowerCase() !== named)
		return undefined;
	return instant(seconds - offset, "");
}

const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const months = [
	...["jan", "feb", "mar", "apr", "may", "jun"],
	...["jul", "aug", "sep", "oct", "nov", "dec"],
];
const zoneHours: Record<string, number> = {
	...{ UT: 0, GMT: 0, Z: 0, UTC: 0 },
	...{ EST: -5, EDT: -4, CST: -6, CDT: -5 },
	...{ MST: -7, MDT: -6, PST: -8, PDT: -7 },
};

const mailDate = new RegExp(
	`^(?:(${weekdays.join("|")}) ?, ?)?(\\d{1,2}) ?(${months.join("|")}) ?(\\d{2,4})` +
		` (\\d\\d) ?: ?(\\d\\d)(?: ?: ?(\\d\\d))?` +
		` (${Object.keys(zoneHours).join("|")}|([+-])(\\d\\d)(\\d\\d))$`,
	"i",
);

/** §4.3: two digits are of 1950 to 2049, and three count from 1900. */
function fullYear(digits: string): number {
	const year = Number(digits);
	if (digits.length === 4) return year;
	return year + (digits.length === 2 && year < 50 ? 2000 : 1900);
}

/** Comments may hold comments, and count as white space (§3.2.3). Undefined if one has no end, or no beginning. */
function withoutComments(text: string): string | undefined {
	let depth = 0;
	let rest = "";
	for (let at = 0; at < text.length; at++) {
		const character = text[at]!;
		if (character === "(") depth++;
		else if (character === ")") {
			if (depth-- === 0) return undefined;
			rest += " ";
		} else if (depth === 0) rest += character;
		else if (character === "\\") at++;
	}
	return depth > 0 ? undefined : rest.replaceAll(/[ \t\r\n]+/g, " ").trim();
}

/**
 * As RFC 5545 §3.3.5 says: of a time that the clocks show twice the first instant counts, and one that they skip is read with
 * the offset from before the gap. A program may read another instant there, so it is odd.
 */
function local(text: string, timeZone: string): TimestampValue | undefined {
	const [, date, hour, minute, second = "00", fraction = "", rest] =
		dateTime.exec(text) ?? [];
	if (date === undefined || rest !== "") return undefined;
	const seconds = wallSeconds(date, [+hour!, +minute!, +second], fraction);
	if (seconds === undefined) return undefined;
	const wall = Temporal.Instant.fromEpochMilliseconds(seconds * 1000)
		.toZonedDateTimeISO("UTC")
		.toPlainDateTime();
	const at = (disambiguation: "compatible" | "earlier" | "later") =>
		wall.toZonedDateTime(timeZone, { disambiguation }).epochMilliseconds / 1000;
	const found = instant(at("compatible"), fraction);
	return found && { ...found, isOdd: at("earlier") !== at("later") };
}

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether this is a date of the years 1 to 9999. */
export function isDate(text: string): boolean {
	if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
	const [year, month, day] = text.split("-").map(Number) as [
		number,
		number,
		number,
	];
	const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
	const days = month === 2 && isLeap ? 29 : (monthDays[month - 1] ?? 0);
	return year >= 1 && day >= 1 && day <= days;
}
