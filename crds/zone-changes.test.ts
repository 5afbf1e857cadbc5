import { expect, test } from "vitest";
import { slotsAtChanges } from "../test/protocols/zones/zone-changes.ts";

// test/protocols does the same for more zones and years.
test.each(["Europe/Berlin", "Australia/Lord_Howe", "Antarctica/Troll"])(
	"%s: schedules follow the rule at a year's clock changes",
	(zone) => {
		const found = slotsAtChanges(zone, 2026, 2026);
		expect(found).not.toEqual([]);
		for (const { cron, expected, slots } of found)
			expect({ cron, slots }).toEqual({ cron, slots: expected });
	},
);
