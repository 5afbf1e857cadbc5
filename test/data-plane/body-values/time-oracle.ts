// bignumber.js: decimal arithmetic without rounding, of another implementation than the product's.
import { BigNumber } from "bignumber.js";
import type { TimestampFormat } from "../../../packages/contracts/job.ts";

/* What a Timestamp column must have for a text, as microseconds since the epoch, by code that shares nothing with the product. */

/** `isDoubtful`: the instant is in the column, and counts as a value that doesn't fit. */
export interface ExpectedTime {
	micros: bigint;
	isDoubtful: boolean;
}

/** @param written a string's characters, or a number's text. */
export function timeOf(
	written: string,
	column: TimestampFormat,
): ExpectedTime | undefined {
	const zone = column.format === "Local" ? column.timeZone : "";
	const time = formats[column.format ?? "RFC3339"](written, zone);
	const isKept =
		time &&
		time.micros >= -62135596800000000n &&
		time.micros < 253402300800000000n;
	return isKept ? time : undefined;
}

type Reader = (written: string, timeZone: string) => ExpectedTime | undefined;

const formats: Record<
	NonNullable<TimestampFormat["format"]> | "RFC3339",
	Reader
> = {
	RFC3339: (written) => {
		const [, clock = "", offset = ""] =
			/^(.*?)([Zz]|[+-]\d\d(?::?\d\d)?)$/s.exec(written) ?? [];
		const wall = wallMicros(clock);
		const [, sign, hours = "00", minutes = "00"] =
			/^([+-])(\d\d):?(\d\d)?$/.exec(offset) ?? [];
		if (wall === undefined || +hours > 23 || +minutes > 59) return undefined;
		return certain(wall - offsetMicros(sign, hours, minutes));
	},
	UnixSeconds: (written) => {
		const micros = microsOf(written, 1_000_000);
		if (micros === undefined) return undefined;
		// Milliseconds since March 1973, but not the last year.
		const isDoubtful =
			micros >= 100_000_000_000_000_000n && micros < 253370764800000000n;
		return { micros, isDoubtful };
	},
	UnixMillis: (written) => {
		const micros = microsOf(written, 1_000);
		if (micros === undefined) return undefined;
		const seconds = new BigNumber(String(micros))
			.div(1_000_000)
			.integerValue(BigNumber.ROUND_FLOOR)
			.abs();
		return { micros, isDoubtful: seconds.gte(100_000) && seconds.lt(1e7) };
	},
	RFC2822: (written) => {
		let text = written;
		for (let before = ""; before !== text; ) {
			before = text;
			text = text.replace(/\([^()\\]*\)/, " ");
		}
		const found =
			/^(?:(\w{3})\s*,\s*)?(\d\d?)\s+(\w{3})\s+(\d{4})\s+(\d\d):(\d\d)(?::(\d\d))?\s+(?:(GMT|EST)|([+-])(\d\d)(\d\d))$/i.exec(
				text.trim(),
			);
		if (!found) return undefined;
		const [, weekday, day, name, year, hour, minute, second = "00"] = found;
		const [zone, sign, hours = "00", minutes = "00"] = found.slice(8);
		const month =
			"janfebmaraprmayjunjulaugsepoctnovdec".indexOf(name!.toLowerCase()) / 3 +
			1;
		if (!Number.isInteger(month) || month < 1 || +hour! > 23) return undefined;
		if (+minutes > 59) return undefined;
		const date = `${year}-${String(month).padStart(2, "0")}-${day!.padStart(2, "0")}`;
		const wall = wallMicros(`${date} ${hour}:${minute}:${second}`);
		if (wall === undefined) return undefined;
		const its = new Date(`${date}T00:00:00Z`).toUTCString().slice(0, 3);
		if (weekday && weekday.toLowerCase() !== its.toLowerCase())
			return undefined;
		const offset =
			zone?.toUpperCase() === "EST"
				? -5n * 3_600_000_000n
				: offsetMicros(sign, hours, minutes);
		return certain(wall - offset);
	},
	Local: (written, timeZone) => {
		const wall = wallMicros(written);
		if (wall === undefined) return undefined;
		const dayMicros = 86_400_000_000n;
		const [before, after] = [wall - dayMicros, wall + dayMicros].map((at) =>
			zoneOffset(at, timeZone),
		) as [bigint, bigint];
		const shown = [before, after]
			.map((offset) => wall - offset)
			.filter((at) => at + zoneOffset(at, timeZone) === wall);
		const different = [...new Set(shown)];
		// Clocks show it twice: the first. They skip it: by the offset from before.
		return {
			micros:
				different.toSorted((a, b) => (a < b ? -1 : 1))[0] ?? wall - before,
			isDoubtful: different.length !== 1,
		};
	},
};

const certain = (micros: bigint): ExpectedTime => ({
	micros,
	isDoubtful: false,
});

function offsetMicros(
	sign: string | undefined,
	hours: string,
	minutes: string,
): bigint {
	const minutesOff = (sign === "-" ? -1 : 1) * (+hours * 60 + +minutes);
	return BigInt(minutesOff) * 60_000_000n;
}

/** Of a number in a unit of so many microseconds, towards the past. */
function microsOf(written: string, unit: number): bigint | undefined {
	if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(written))
		return undefined;
	const micros = new BigNumber(written).times(unit);
	if (!micros.abs().lt(1e18)) return undefined;
	return BigInt(micros.integerValue(BigNumber.ROUND_FLOOR).toFixed(0));
}

/** What clocks in UTC show, as microseconds. */
function wallMicros(text: string): bigint | undefined {
	const [, date, hour = "", minute = "", second = "0", fraction = ""] =
		/^(\d{4}-\d\d-\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?$/.exec(
			text,
		) ?? [];
	if (date === undefined || !isDate(date)) return undefined;
	const isMidnight = +hour === 24 && +minute === 0 && +second === 0;
	if ((+hour > 23 && !isMidnight) || +minute > 59 || +second > 60)
		return undefined;
	if (isMidnight && +fraction > 0) return undefined;
	// Date.UTC takes years below 100 for those of the 20th century.
	const days = Date.parse(`${date}T00:00:00Z`) / 86_400_000;
	const seconds =
		BigInt(days) * 86_400n + BigInt(+hour * 3600 + +minute * 60 + +second);
	return seconds * 1_000_000n + BigInt(fraction.padEnd(6, "0").slice(0, 6));
}

/** What clocks there show, less UTC, as Intl has it. */
function zoneOffset(micros: bigint, timeZone: string): bigint {
	const ms = Number(micros / 1_000_000n) * 1000;
	const { year, month, day, hour, minute, second } = Object.fromEntries(
		new Intl.DateTimeFormat("en-GB", {
			...{ timeZone, hourCycle: "h23", calendar: "iso8601" },
			...{ year: "numeric", month: "2-digit", day: "2-digit" },
			...{ hour: "2-digit", minute: "2-digit", second: "2-digit" },
		})
			.formatToParts(ms)
			.map(({ type, value }) => [type, value]),
	);
	const shown = new Date(0);
	shown.setUTCFullYear(+year!, +month! - 1, +day!);
	shown.setUTCHours(+hour!, +minute!, +second!);
	return BigInt(shown.getTime() - ms) * 1000n;
}

const daysIn = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

export function isDate(text: string): boolean {
	const [, year = "", month = "", day = ""] =
		/^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
	const isLeap = +year % 4 === 0 && (+year % 100 !== 0 || +year % 400 === 0);
	const days = month === "02" && isLeap ? 29 : (daysIn[+month - 1] ?? 0);
	return +year >= 1 && +day >= 1 && +day <= days;
}
