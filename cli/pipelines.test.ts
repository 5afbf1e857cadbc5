import { expect, test } from "vitest";
import { UsageError } from "./command/errors.ts";
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
	[
		{ eventType: ["push", "ping", "push"], typeHeader: "X-GitHub-Event" },
		{
			filter: {
				types: ["push", "ping"],
				eventType: { header: "x-github-event" },
			},
		},
	],
	[
		{ eventType: ["charge.refunded"], typePointer: "/type", match: "/a=b=c" },
		{
			filter: {
				types: ["charge.refunded"],
				eventType: { bodyPointer: "/type" },
				match: { bodyPointer: "/a", equals: "b=c" },
			},
		},
	],
	[
		{ perEventType: true, typeHeader: "X-Topic", eventType: ["a"] },
		{
			filter: { types: ["a"], eventType: { header: "x-topic" } },
			table: { perEventType: true, eventType: { header: "x-topic" } },
		},
	],
	[
		{ latestBy: "order_id,region" },
		{ table: { latestBy: ["order_id", "region"] } },
	],
	[{ perEventType: true }, { table: { perEventType: true } }],
	[{ evolve: true }, { table: { schema: "Evolve" } }],
	[{ match: "/a=" }, { filter: { match: { bodyPointer: "/a", equals: "" } } }],
	[{ cron: "0 * * * *" }, { schedule: { type: "Cron", cron: "0 * * * *" } }],
])("the options %j make the spec of a Pipeline", (options, spec) => {
	expect(specOf(options)).toEqual(spec);
});

test.each([
	[{ match: "status=paid" }, '--match is "status=paid"'],
	[{ match: "/status" }, '--match is "/status"'],
	[{ typePointer: "/type" }, "--type-pointer and --type-header are for"],
	[{ typeHeader: "x-topic" }, "--type-pointer and --type-header are for"],
])("the filter of %j is refused", (options, message) => {
	expect(() => specOf(options)).toThrow(UsageError);
	expect(() => specOf(options)).toThrow(message);
});
