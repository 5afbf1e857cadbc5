import { expect, test } from "vitest";
import { formats } from "../../tracking-plan/metered/formats.ts";
import { columnValue } from "./body-value.ts";

const dates = [
	"2026-03-01",
	"2024-02-29",
	"2026-02-29",
	"2026-13-01",
	"2016-12-31",
	"0001-01-01",
	"9999-12-31",
	"0000-01-01",
];
const separators = ["T", "t", " ", "\t", "\u00a0", "", "T "];
const times = [
	"00:00:00",
	"23:59:59",
	"23:59:60",
	"23:59:60.5",
	"18:59:60",
	"00:29:60",
	"12:30:60",
	"24:00:00",
	"24:00",
	"12:00",
	"12:00:00.123456789",
	"12:00:00.",
	"12:60:00",
	"12:00:61",
];
const offsets = [
	"Z",
	"z",
	"+00:00",
	"-00:00",
	"-05:00",
	"+0030",
	"+01",
	"+23:59",
	"-23:59",
	"+24:00",
	"+00:60",
	"",
];

test("every instant that passes a plan's date-time has a value, on its own day, unless no warehouse has its year", () => {
	let passed = 0;
	for (const date of dates)
		for (const separator of separators)
			for (const time of times)
				for (const offset of offsets) {
					const text = date + separator + time + offset;
					const isPlanned = formats["date-time"](text);
					const value = columnValue(JSON.stringify(text), {
						type: "Timestamp",
					});
					const exact = time.replace(":60", ":59").padEnd(8, ":00").slice(0, 8);
					const offsetOf = offset
						.replace(/^([+-]\d\d)(\d\d)?$/, (_, h, m = "00") => `${h}:${m}`)
						.toUpperCase();
					const ms =
						Date.parse(`${date}T${exact}${offsetOf}`) +
						(time.includes(":60") ? 1_000 : 0);
					const year = Number.isNaN(ms) ? 0 : new Date(ms).getUTCFullYear();
					if (!isPlanned || year < 1 || year > 9999) continue;
					passed++;
					expect(value?.slice(1, 20).replace(" ", "T"), text).toBe(
						new Date(ms).toISOString().slice(0, 19),
					);
				}
	expect(passed).toBeGreaterThan(500);
});
