import { expect, test } from "vitest";
import { specOf } from "./pipelines.ts";

test.each([
	[{}, undefined],
	[
		{ source: "shop", destination: "lake", table: "t" },
		{
			sourceRef: { name: "shop" },
			destinationRef: { name: "lake" },
			table: { name: "t" },
		},
	],
	[{ every: "15m" }, { schedule: { type: "Interval", interval: "15m" } }],
	[
		{ daily: "06:30", timeZone: "Europe/Berlin" },
		{
			schedule: {
				type: "Daily",
				updateTime: "06:30",
				timeZone: "Europe/Berlin",
			},
		},
	],
	[{ cron: "0 * * * *" }, { schedule: { type: "Cron", cron: "0 * * * *" } }],
])("the options %j make the spec of a Pipeline", (options, spec) => {
	expect(specOf(options)).toEqual(spec);
});
