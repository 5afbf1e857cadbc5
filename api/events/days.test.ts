import { expect, test } from "vitest";
import type { Pipeline } from "../../crds/generated/types.ts";
import type { SourceLedger } from "../../packages/contracts/ledger.ts";
import { daysOf } from "./days.ts";

const now = Date.parse("2026-03-31T12:00:00Z");
const sourceKey = "5".repeat(32);
const ledger: SourceLedger = {
	version: 1,
	account: "shop",
	sourceKey,
	firstEventDate: "2026-03-01",
	lastEventTime: "2026-03-31T11:00:00.000Z",
	archivedThrough: "2026-03-31T11:59:00.000Z",
	archived: { "2026-03-30": 10, "2026-03-31": 4 },
	quarantined: { "2026-03-30": 3 },
};
const released = {
	version: 1 as const,
	account: "shop",
	sourceKey,
	released: { "2026-03-30": { events: 2, imported: 5, releases: 1 } },
};

function pipeline(snapshotTime: string | undefined, start?: string): Pipeline {
	return {
		metadata: { name: "orders", namespace: "shop" },
		spec: {
			sourceRef: { name: "shop" },
			dateRange: { end: "Today", ...(start && { start }) },
			table: {},
		},
		status: {
			tableName: "orders",
			...(snapshotTime && {
				lastSuccess: { snapshotTime, layout: { sourceKey, table: "orders" } },
			}),
		},
	} as unknown as Pipeline;
}

test("each of the last 31 dates has its counts; what was released is stored, and no longer in quarantine", () => {
	const { items, ...rest } = daysOf({ ledger, released }, [], now);
	expect(items).toHaveLength(31);
	expect([items[0]!.date, items.at(-1)!.date]).toEqual([
		"2026-03-31",
		"2026-03-01",
	]);
	expect(items.slice(0, 3)).toEqual([
		day("2026-03-31", 4, 4, 0, 0),
		day("2026-03-30", 13, 12, 1, 5),
		day("2026-03-29", 0, 0, 0, 0),
	]);
	expect(rest).toEqual({
		lastEventTime: ledger.lastEventTime,
		archivedThrough: ledger.archivedThrough,
	});
});

function day(
	date: string,
	received: number,
	stored: number,
	quarantined: number,
	imported: number,
) {
	return { date, received, stored, quarantined, imported, loads: [] };
}

test.each([
	["never", undefined, undefined, ["Waiting", "Waiting"]],
	["in the morning", "2026-03-31T06:00:00Z", undefined, ["Waiting", "Loaded"]],
	[
		"after the last event",
		"2026-03-31T11:00:00Z",
		undefined,
		["Loaded", "Loaded"],
	],
	[
		"in the day before",
		"2026-03-30T23:00:00Z",
		undefined,
		["Waiting", "Waiting"],
	],
	[
		"of today alone",
		"2026-03-31T11:30:00Z",
		"2026-03-31",
		["Loaded", "Excluded"],
	],
])(
	"of a Pipeline that last ran %s, it says which dates its table has whole",
	(_, snapshotTime, start, states) => {
		const { items } = daysOf(
			{ ledger, released },
			[pipeline(snapshotTime, start)],
			now,
		);
		expect(items.slice(0, 2).map(({ loads }) => loads![0]!.state)).toEqual(
			states,
		);
	},
);

test("a Source without events has 31 empty dates, and who may not see Pipelines learns of none", () => {
	const none = { ledger: undefined, released: undefined };
	const { items } = daysOf(none, undefined, now);
	expect(items.every(({ received }) => received === 0)).toBe(true);
	expect(items[0]).not.toHaveProperty("loads");
});
