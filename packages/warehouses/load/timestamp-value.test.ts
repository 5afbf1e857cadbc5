import { expect, test } from "vitest";
import type { TimestampFormat } from "../../contracts/job.ts";
import { columnValue } from "./body-value.ts";

function columnOf(json: string, format: TimestampFormat) {
	const value = columnValue(json, { type: "Timestamp", ...format });
	return value?.replace(/\+00$/, "Z").replace(/\.0+Z$/, "Z");
}

test.each<[string, string]>([
	["0", "=1970-01-01 00:00:00Z"],
	["-0", "=1970-01-01 00:00:00Z"],
	["-0.0e400", "=1970-01-01 00:00:00Z"],
	["1772366400", "=2026-03-01 12:00:00Z"],
	['"1772366400"', "=2026-03-01 12:00:00Z"],
	["1.7723664e9", "=2026-03-01 12:00:00Z"],
	["17723664000e-1", "=2026-03-01 12:00:00Z"],
	["1772366400.123456", "=2026-03-01 12:00:00.123456Z"],
	// 53 bits have it as .254209 and as .999999046.
	["1772366400.2542083", "=2026-03-01 12:00:00.254208Z"],
	["253402300799.999999", "=9999-12-31 23:59:59.999999Z"],
	["253402300799.9999999", "=9999-12-31 23:59:59.999999Z"],
	["253402300800", "?"],
	["-62135596800", "=0001-01-01 00:00:00Z"],
	["-62135596800.000001", "?"],
	["-62135596800.0000001", "?"],
	// To the past, as a fraction after a time of RFC 3339.
	["-0.0000001", "=1969-12-31 23:59:59.999999Z"],
	["-1.5", "=1969-12-31 23:59:58.500000Z"],
	["0.0000009", "=1970-01-01 00:00:00Z"],
	["1e-400", "=1970-01-01 00:00:00Z"],
	["1e400", "?"],
	["1e99999999999999999999", "?"],
	// Milliseconds that somebody takes for seconds.
	["1772366400000", "?"],
	['"2026-03-01T12:00:00Z"', "?"],
	['" 1772366400"', "?"],
	['"0x1"', "?"],
	['""', "?"],
	["true", "?"],
	["[1]", "?"],
])("UnixSeconds %s is %s", (json, expected) => {
	expect(columnOf(json, { format: "UnixSeconds" })).toBe(expected);
});

test.each<[string, string]>([
	["1772366400123", "=2026-03-01 12:00:00.123000Z"],
	['"1772366400123"', "=2026-03-01 12:00:00.123000Z"],
	["1772366400123.4567", "=2026-03-01 12:00:00.123456Z"],
	["-1", "=1969-12-31 23:59:59.999000Z"],
	["253402300799999", "=9999-12-31 23:59:59.999000Z"],
	["253402300800000", "?"],
	["1772366400123456", "?"],
])("UnixMillis %s is %s", (json, expected) => {
	expect(columnOf(json, { format: "UnixMillis" })).toBe(expected);
});

test.each<[string, string]>([
	["Sun, 1 Mar 2026 12:00:00 +0000", "=2026-03-01 12:00:00Z"],
	["1 Mar 2026 12:00 -0530", "=2026-03-01 17:30:00Z"],
	["sun,01 MAR 2026 12:00:00 gmt", "=2026-03-01 12:00:00Z"],
	["Sun, 1 Mar 2026 12:00:00 -0000", "=2026-03-01 12:00:00Z"],
	["Sun, 1 Mar 2026 12:00:60 Z", "=2026-03-01 12:01:00Z"],
	["1 Mar 2026 12:00:00 UT", "=2026-03-01 12:00:00Z"],
	["1 Mar 2026 12:00:00 GMT", "=2026-03-01 12:00:00Z"],
	["1 Mar 2026 12:00:00 UTC", "=2026-03-01 12:00:00Z"],
	["1 Mar 2026 23:00:00 EST", "=2026-03-02 04:00:00Z"],
	["1 Mar 2026 12:00:00 EDT", "=2026-03-01 16:00:00Z"],
	["1 Mar 2026 12:00:00 CST", "=2026-03-01 18:00:00Z"],
	["1 Mar 2026 12:00:00 CDT", "=2026-03-01 17:00:00Z"],
	["1 Mar 2026 12:00:00 MST", "=2026-03-01 19:00:00Z"],
	["1 Mar 2026 12:00:00 MDT", "=2026-03-01 18:00:00Z"],
	["1 Mar 2026 12:00:00 PST", "=2026-03-01 20:00:00Z"],
	["1 Mar 2026 12:00:00 PDT", "=2026-03-01 19:00:00Z"],
	["21 Nov 97 09:55:06 -0600", "=1997-11-21 15:55:06Z"],
	["21 Nov 49 09:55:06 GMT", "=2049-11-21 09:55:06Z"],
	["21 Nov 097 09:55:06 GMT", "=1997-11-21 09:55:06Z"],
	// RFC 5322, appendix A.5 and A.6.3.
	[
		"Thu,\r\n      13\r\n        Feb\r\n          1969\r\n      23:32\r\n               -0330 (Newfoundland Time)",
		"=1969-02-14 03:02:00Z",
	],
	["Fri, 21 Nov 1997 09(comment):   55  :  06 -0600", "=1997-11-21 15:55:06Z"],
	["(a(b)\\)c) 1 Mar 2026 12:00:00 GMT", "=2026-03-01 12:00:00Z"],
	["31 Dec 9999 23:59:59 -0100", "?"],
	["1 Jan 0001 00:00:00 +0100", "?"],
	// The day isn't the date's.
	["Mon, 1 Mar 2026 12:00:00 +0000", "?"],
	["30 Feb 2026 12:00:00 GMT", "?"],
	["1 Mar 2026 24:00:00 GMT", "?"],
	["1 Mar 2026 12:60:00 GMT", "?"],
	["1 Mar 2026 12:00:00 +0060", "?"],
	["1 Mar 2026 12:00:00", "?"],
	["1 Mar 2026 12:00:00 CET", "?"],
	["1 Mar 2026 12:00:00 A", "?"],
	["1 Mar 2026 12:00:00 GMT+0200", "?"],
	["1 Mar 2026 12:00:00 GMT (a", "?"],
	["1 Mar 2026 12:00:00 GMT a)", "?"],
	["1 Ma(a)r 2026 12:00:00 GMT", "?"],
	["2026-03-01T12:00:00Z", "?"],
	["1772366400", "?"],
])("RFC2822 %j is %s", (text, expected) => {
	expect(columnOf(JSON.stringify(text), { format: "RFC2822" })).toBe(expected);
});

test.each<[string, string, string]>([
	["Europe/Berlin", "2026-03-01T12:00:00", "=2026-03-01 11:00:00Z"],
	["Europe/Berlin", "2026-07-01 00:30", "=2026-06-30 22:30:00Z"],
	[
		"Europe/Berlin",
		"2026-07-01T12:00:00.1234569",
		"=2026-07-01 10:00:00.123456Z",
	],
	["Europe/Berlin", "2026-02-28T24:00:00", "=2026-02-28 23:00:00Z"],
	["Asia/Kolkata", "2026-03-01T00:00:00", "=2026-02-28 18:30:00Z"],
	["UTC", "2026-12-31T23:59:60", "=2027-01-01 00:00:00Z"],
	["Pacific/Apia", "2011-12-29T12:00:00", "=2011-12-29 22:00:00Z"],
	["Europe/Berlin", "0099-03-01T12:00:00", "=0099-03-01 11:06:32Z"],
	["Europe/Berlin", "0001-01-01T00:30:00", "?"],
	["America/New_York", "9999-12-31T23:59:59", "?"],
	// Clocks skip it: by the offset from before.
	["Europe/Berlin", "2026-03-29T02:30:00", "!2026-03-29 01:30:00Z"],
	["America/New_York", "2026-03-08T02:00:00", "!2026-03-08 07:00:00Z"],
	["Australia/Lord_Howe", "2026-10-04T02:15:00", "!2026-10-03 15:45:00Z"],
	["Europe/Berlin", "2026-03-29T03:00:00", "=2026-03-29 01:00:00Z"],
	["Europe/Berlin", "2026-03-29T01:59:59", "=2026-03-29 00:59:59Z"],
	// A whole day that Samoa had not.
	["Pacific/Apia", "2011-12-30T12:00:00", "!2011-12-30 22:00:00Z"],
	// Clocks show it twice: the first.
	["Europe/Berlin", "2026-10-25T02:30:00", "!2026-10-25 00:30:00Z"],
	["America/Havana", "2026-11-01T00:30:00", "!2026-11-01 04:30:00Z"],
	["Europe/Berlin", "2026-10-25T03:00:00", "=2026-10-25 02:00:00Z"],
	["Europe/Berlin", "2026-03-01T12:00:00Z", "?"],
	["Europe/Berlin", "2026-03-01T12:00:00+01:00", "?"],
	["Europe/Berlin", "2026-03-01", "?"],
	["Europe/Berlin", "2026-02-30T12:00:00", "?"],
	["Europe/Berlin", "2026-03-01T12:00:00\n", "?"],
])("Local, in %s %j is %s", (timeZone, text, expected) => {
	const format = { format: "Local", timeZone } as const;
	expect(columnOf(JSON.stringify(text), format)).toBe(expected);
});

test("nothing and null fit every format", () => {
	for (const format of ["UnixSeconds", "UnixMillis", "RFC2822"] as const)
		expect(columnValue("null", { type: "Timestamp", format })).toBeNull();
});

test("a text that strangers choose costs no more than its length", () => {
	const long = 1_000_000;
	const texts = [
		`${"(".repeat(long)}1 Mar 2026 12:00:00 GMT`,
		`1${" ".repeat(long)}Mar`,
		`1.${"0".repeat(long)}1`,
		`0.${"0".repeat(long)}1`,
	];
	for (const text of texts) {
		expect(columnOf(JSON.stringify(text), { format: "RFC2822" })).toBe("?");
		columnOf(JSON.stringify(text), { format: "UnixSeconds" });
	}
});
