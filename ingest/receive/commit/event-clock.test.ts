import { expect, test } from "vitest";
import { isTimely, rightTime } from "./event-clock.ts";

const dayMs = 86_400_000;
const date = Date.UTC(2026, 10, 22);
const compared = { aheadMs: -10_000, dateMs: date, steadyMs: 5_000 };

test.each([
	["as it was compared", 0, true],
	["set back so that it is 30 s behind", -20_000, true],
	["set back further", -20_001, false],
	["set forward so that it is 30 s ahead", 40_000, true],
	["set forward further", 40_001, false],
	["set back by a day", -dayMs, false],
])("a clock %s gives a date, or none", (_, jumpedMs, isRight) => {
	for (const passedMs of [0, 7_000, 3_600_000]) {
		const dateMs = date + passedMs + jumpedMs;
		expect(rightTime(compared, dateMs, 5_000 + passedMs)).toBe(
			isRight ? dateMs : undefined,
		);
	}
});

test("a clock that was compared with none gives no date, nor one whose server told no time", () => {
	expect(rightTime(undefined, date, 0)).toBeUndefined();
	const unknown = { ...compared, aheadMs: Number.NaN };
	expect(rightTime(unknown, date, 5_000)).toBeUndefined();
});

test.each([
	[0, true],
	[60_000, true],
	[90_000, true],
	[90_001, false],
	[-30_000, true],
	[-30_001, false],
	[dayMs, false],
])("an event that is %d ms old is timely: %s", (ageMs, isIt) => {
	expect(isTimely(date, date + ageMs)).toBe(isIt);
});
