import { expect, test } from "vitest";
import { UsageError } from "./command/errors.ts";
import { specOf } from "./pipelines.ts";

test.each([
	[{}, {}],
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
	[
		{ bodyColumn: ["amount=/a:integer", "city=/c"] },
		{
			table: {
				bodyColumns: [
					{ name: "amount", bodyPointer: "/a", type: "Integer" },
					{ name: "city", bodyPointer: "/c" },
				],
			},
		},
	],
])("the options %j make the spec of a Pipeline", (options, spec) => {
	expect(specOf(options)).toEqual(spec);
});

test.each(["amount", "Amount=/a", "amount=a", "amount=/a:Money"])(
	"--body-column %s is refused, and the message says what is right",
	(column) => {
		const make = () => specOf({ bodyColumn: [column] });
		expect(make).toThrow(UsageError);
		expect(make).toThrow("such as amount=/data/amount:Integer");
	},
);
