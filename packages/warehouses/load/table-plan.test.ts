import { expect, test } from "vitest";
import { manifestOf } from "../../../test/support/examples/manifest-example.ts";
import type { LoadInput, Strategy } from "../../contracts/job.ts";
import { heldDates, incompatibility, type WantedColumn } from "./table-plan.ts";

const id: WantedColumn = { name: "event_id", from: "EventID", type: "TEXT" };
const date: WantedColumn = { name: "date", from: "Date", type: "DATE" };
const header: WantedColumn = {
	name: "header_x",
	from: { header: "x" },
	type: "TEXT",
};
const violations: WantedColumn = {
	name: "violations",
	from: "Violations",
	type: "TEXT",
};
const fromBody: WantedColumn = {
	name: "total",
	from: { bodyPointer: "/total", type: "Number" },
	type: "DOUBLE",
};
const other = { name: "mine", type: "INTEGER" };

test.each<[string, Strategy, { name: string; type: string }[], WantedColumn[]]>(
	[
		["the same columns", "Incremental", [id, date], [id, date]],
		["the same columns", "FullReload", [id], [id]],
		[
			"names in another case",
			"Incremental",
			[{ ...id, name: "EVENT_ID" }],
			[id],
		],
		[
			"names in another case",
			"FullReload",
			[{ ...id, name: "EVENT_ID" }],
			[id],
		],
		["no column of a header", "Incremental", [id, date], [id, date, header]],
		["no column of violations", "Incremental", [id], [id, violations]],
		["no column from the body", "Incremental", [id], [id, fromBody]],
		["one more column", "Incremental", [id, other], [id]],
		["one column less", "FullReload", [id], [id, header]],
		["no event ids", "FullReload", [header], [id, header]],
		[
			"names in another case",
			"FullReload",
			[id],
			[{ ...id, name: "Event_ID" }],
		],
	],
)("a table with %s is compatible with %s", (_, strategy, existing, wanted) => {
	for (const isMarked of [true, false])
		expect(
			incompatibility(existing, wanted, strategy, isMarked),
		).toBeUndefined();
});

test("a table that loads have filled gets any column later but the date", () => {
	const later = (column: WantedColumn, isMarked: boolean) =>
		incompatibility([other], [column], "Incremental", isMarked);
	for (const from of ["EventID", "Timestamp", "Body"] as const) {
		const column = { name: "x", from, type: "TEXT" };
		expect(later(column, true)).toBeUndefined();
		expect(later(column, false)).toBe('it has no column "x"');
	}
	expect(later(date, true)).toBe('it has no column "date"');
});

test.each<
	[string, Strategy, { name: string; type: string }[], WantedColumn[], string]
>([
	[
		"a column of another type",
		"Incremental",
		[{ ...id, type: "UUID" }, date],
		[id, date],
		'its column "event_id" has type UUID, but the load needs TEXT',
	],
	[
		"a column of another type in another case",
		"Incremental",
		[{ ...id, type: "UUID" }],
		[{ ...id, name: "Event_ID" }],
		'its column "Event_ID" has type UUID, but the load needs TEXT',
	],
	[
		"a column of another type",
		"FullReload",
		[{ ...id, type: "UUID" }],
		[id],
		'its column "event_id" has type UUID, but the load needs TEXT',
	],
	[
		"a column from the body of another type",
		"Incremental",
		[id, { ...fromBody, type: "TEXT" }],
		[id, fromBody],
		'its column "total" has type TEXT, but the load needs DOUBLE',
	],
	[
		"no event ids",
		"Incremental",
		[date],
		[id, date],
		'it has no column "event_id"',
	],
	[
		"a column that the load doesn't fill",
		"FullReload",
		[id, other],
		[id],
		'a full reload would drop its column "mine"',
	],
])(
	"a table with %s is incompatible with %s",
	(_, strategy, existing, wanted, reason) => {
		expect(incompatibility(existing, wanted, strategy, false)).toBe(reason);
	},
);

test("a table says nothing of dates once somebody has dropped its column of them or given it another type", async () => {
	const day = "2026-03-01";
	const dates = [{ date: day, rows: 0, objects: [] }];
	const manifest = { ...manifestOf(), dates };
	const mark = {
		run: "earlier",
		snapshotMs: 0,
		pipeline: "shop/p",
		sourceKey: manifest.sourceKey,
		record: "another-one",
	};
	const held = { rows: 1, digest: "", loadedDigest: "", loads: [] };
	const read = (
		columns: { name: string; type: string }[],
		incompatibility?: string,
	) =>
		heldDates(
			{
				found: () => ({ mark, isEmpty: false, incompatibility }),
				filling: () => [],
			},
			{
				run: { name: "r", uid: "u", account: "shop", pipeline: "p" },
				table: { name: "orders", columns: [id, date], description: "" },
				strategy: "Incremental",
				rebuild: true,
			} as unknown as LoadInput,
			manifest,
			{ columns, comment: { words: "", mark } },
			async () => () => held,
		);
	for (const columns of [[id], [id, { ...date, type: "TEXT" }]])
		expect(await read(columns, "of its date")).toBeUndefined();
	const mine = [id, { ...date, type: "date" }];
	const about = { ...held, isFilledOtherwise: true };
	expect((await read(mine))?.get(day)).toEqual(about);
	// Only where the whole table goes may no date of it stay.
	expect((await read(mine, "of another"))?.get(day)).toEqual({
		...about,
		isReplaced: true,
	});
});
