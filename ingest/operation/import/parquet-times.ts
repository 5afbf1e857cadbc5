/** The years 0000 to 9999, which RFC 3339 can say, in seconds since the epoch. */
const firstSecond = -62_167_219_200n;
const lastSecond = 253_402_300_799n;

/** Undefined if RFC 3339 has no such year. */
export function dateText(days: number): string | undefined {
	return secondText(BigInt(days) * 86_400n)?.slice(0, 10);
}

/** RFC 3339's time of a day, with the Z if it is one of UTC. Undefined if no day has it. */
export function timeOfDayText(
	units: bigint,
	perSecond: bigint,
	isUTC: boolean,
): string | undefined {
	if (units < 0n || units >= 86_400n * perSecond) return undefined;
	const time = localText(units, perSecond)!.slice(11);
	return `${time}${isUTC ? "Z" : ""}`;
}

/**
 * A time since the epoch as RFC 3339 says it, with all its digits. Without a zone, its clock stands there without one.
 * @param zone IANA name of the place whose clock it is; UTC if it is an instant.
 */
export function timestampText(
	units: bigint,
	perSecond: bigint,
	zone: string | undefined,
): { text: string } | { fault: string } {
	const local = localText(units, perSecond);
	if (local === undefined)
		return { fault: "is a time of a year that RFC 3339 can't say" };
	if (zone === undefined) return { text: local };
	if (zone === "UTC") return { text: `${local}Z` };
	const clock = Temporal.PlainDateTime.from(local);
	const earlier = clock.toZonedDateTime(zone, { disambiguation: "earlier" });
	const later = clock.toZonedDateTime(zone, { disambiguation: "later" });
	if (!earlier.equals(later))
		return {
			fault: `is ${local}, which ${zone} has ${earlier.toPlainDateTime().equals(clock) ? "twice" : "not at all"}`,
		};
	// RFC 3339 has no seconds in an offset. Places had some before time zones were agreed on.
	if (earlier.offsetNanoseconds % 60e9 === 0)
		return { text: `${local}${earlier.offset}` };
	const offset =
		(BigInt(earlier.offsetNanoseconds) * perSecond) / 1_000_000_000n;
	return { text: `${localText(units - offset, perSecond)}Z` };
}

/** Nanoseconds since the epoch: those of the day, and its Julian day (github.com/apache/parquet-format, INT96). */
export function int96Nanoseconds(bytes: Buffer): bigint {
	const day = BigInt(bytes.readInt32LE(8)) - 2_440_588n;
	return day * 86_400_000_000_000n + bytes.readBigInt64LE(0);
}

/** ISO 8601's duration of a Parquet INTERVAL: months, days and milliseconds, which don't become each other. */
export function durationText(bytes: Buffer): string {
	const [months, days, ms] = [0, 4, 8].map((at) => bytes.readUInt32LE(at));
	return `P${months}M${days}DT${ms! / 1_000}S`;
}

export function floorDiv(dividend: bigint, divisor: bigint): bigint {
	const quotient = dividend / divisor;
	return quotient * divisor > dividend ? quotient - 1n : quotient;
}

function localText(units: bigint, perSecond: bigint): string | undefined {
	const seconds = floorDiv(units, perSecond);
	const fraction = String(perSecond + units - seconds * perSecond)
		.slice(1)
		.replace(/0+$/, "");
	const text = secondText(seconds);
	return text && (fraction === "" ? text : `${text}.${fraction}`);
}

function secondText(seconds: bigint): string | undefined {
	return seconds < firstSecond || seconds > lastSecond
		? undefined
		: new Date(Number(seconds) * 1_000).toISOString().slice(0, 19);
}
