// In make test: crds/zone-changes.test.ts
import { expect, test } from "vitest";
import { slotsAtChanges } from "./zone-changes.ts";

const zones = [
	["Europe/Berlin", "Europe/Dublin", "Europe/Chisinau", "Atlantic/Azores"],
	["America/New_York", "America/St_Johns", "America/Havana", "America/Nuuk"],
	["America/Santiago", "America/Asuncion", "America/Mexico_City"],
	["America/Scoresbysund", "America/Sao_Paulo", "Antarctica/Troll"],
	["Australia/Sydney", "Australia/Lord_Howe", "Pacific/Auckland"],
	["Pacific/Chatham", "Pacific/Easter", "Pacific/Apia", "Pacific/Fiji"],
	["Africa/Casablanca", "Africa/Cairo", "Asia/Gaza", "Asia/Beirut"],
	["Asia/Tehran", "Asia/Almaty", "Asia/Amman", "Europe/Volgograd"],
].flat();
test.each(zones)(
	"%s: schedules follow the rule at every clock change since 2018",
	(zone) => {
		const found = slotsAtChanges(zone, 2018, 2026);
		expect(found).not.toEqual([]);
		for (const { cron, expected, slots } of found)
			expect({ cron, slots }).toEqual({ cron, slots: expected });
	},
);
