import { describe, expect, test } from "vitest";
import { manifestOf } from "../../../../test/support/examples/manifest-example.ts";
import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { HeldDate, LoadDay } from "../../load/load-day.ts";
import type { TableMark } from "../../load/table-mark.ts";
import { recordOf } from "../../load/table-plan.ts";
import { TableChanged } from "../../load/warehouse.ts";
import {
	type ClickHouseTable,
	clickHouseTables,
	planClickHouse,
} from "./plan.ts";

const columns: TableColumn[] = [
	{ name: "event_id", from: "EventID" },
	{ name: "timestamp", from: "Timestamp" },
	{ name: "date", from: "Date" },
];
const header: TableColumn = { name: "header_x", from: { header: "x" } };
const { sourceKey } = manifestOf();
const ours: TableMark = {
	run: "earlier",
	snapshotMs: 0,
	pipeline: "shop/p",
	sourceKey,
	holds: { sourceKey, through: "2026-03-08" },
};

function input(
	table: Partial<LoadInput["table"]> = {},
	more: Partial<LoadInput> = {},
): LoadInput {
	return {
		version: 1,
		run: { name: "r", uid: "u", account: "shop", pipeline: "p" },
		destination: { type: "ClickHouse" },
		table: { name: "orders", columns, description: "from p", ...table },
		strategy: "Incremental",
		rebuild: false,
		manifestURL: "http://x",
		...more,
	};
}

const full = (table: Partial<LoadInput["table"]> = {}) =>
	input({ columns: columns.slice(0, 2), ...table }, { strategy: "FullReload" });

function table(changes: Partial<ClickHouseTable> = {}): ClickHouseTable {
	return {
		columns: [
			{ name: "event_id", type: "String" },
			{ name: "timestamp", type: "DateTime64(6, 'UTC')" },
			{ name: "date", type: "Date" },
		],
		comment: { words: "theirs", mark: ours },
		isEmpty: false,
		engine: "MergeTree",
		partitionKey: "date",
		sortingKey: "date, timestamp, event_id",
		ttl: undefined,
		columnTTLs: [],
		fedViews: [],
		...changes,
	};
}

const withoutDate = (changes: Partial<ClickHouseTable> = {}) =>
	table({ columns: table().columns.slice(0, 2), partitionKey: "", ...changes });

function plan(
	load: LoadInput,
	existing: ClickHouseTable | undefined,
	days: LoadDay[] = [],
	held?: ReadonlyMap<string, HeldDate>,
) {
	return planClickHouse(load, manifestOf(), days, existing, held);
}

test("the first load makes a table in the order of dates, with comments on its columns, which gets its name when it is filled", () => {
	const { publish, staging, comments, added } = plan(input(), undefined);
	expect({ publish, comments, added }).toEqual({
		publish: "Rename",
		comments: [],
		added: [],
	});
	expect(staging).toMatchObject({
		columns,
		orderBy: ["date", "timestamp", "event_id"],
		comment: expect.stringMatching(/^from p\n/),
	});
	expect(staging?.comments?.map(({ name }) => name)).toEqual([
		"event_id",
		"timestamp",
		"date",
	]);
});

test("a new table is sorted as the Pipeline says", () => {
	const { staging } = plan(
		input({ options: { orderBy: ["timestamp"] } }),
		undefined,
	);
	expect(staging?.orderBy).toEqual(["timestamp"]);
});

test("a later load replaces partitions of the table as it is, which gets the columns and comments that it lacks and keeps its words", () => {
	const columns = [...input().table.columns, header];
	const commented = table();
	commented.columns[0]!.comment = "mine";
	const found = plan(input({ columns }), commented);
	expect(found).toMatchObject({
		publish: "Partitions",
		staging: undefined,
		added: [header],
		after: expect.stringMatching(/^theirs\n/),
	});
	expect(found.comments.map(({ name }) => name)).toEqual([
		"timestamp",
		"date",
		"header_x",
	]);
});

test("a full reload fills a table like the one that is there, whose place it takes", () => {
	expect(plan(full(), withoutDate())).toMatchObject({
		publish: "Exchange",
		staging: undefined,
		record: undefined,
	});
});

test("a table that is rebuilt is made anew, in the order that the Pipeline wants", () => {
	const load = input({ options: { orderBy: ["event_id"] } }, { rebuild: true });
	const { publish, staging } = plan(load, table());
	expect({ publish, orderBy: staging?.orderBy }).toEqual({
		publish: "Exchange",
		orderBy: ["event_id"],
	});
});

describe("a table is incompatible", () => {
	test.each<[string, LoadInput, ClickHouseTable, string | undefined]>([
		["unless it fits", input(), table(), undefined],
		[
			"and a replicated one fits",
			input(),
			table({ engine: "ReplicatedMergeTree" }),
			undefined,
		],
		[
			"and a shared one fits",
			input(),
			table({ engine: "SharedMergeTree" }),
			undefined,
		],
		[
			"if it merges rows",
			input(),
			table({ engine: "ReplacingMergeTree" }),
			"its engine is ReplacingMergeTree, which doesn't keep every row",
		],
		[
			"if replicas merge rows",
			input(),
			table({ engine: "ReplicatedReplacingMergeTree" }),
			"its engine is ReplicatedReplacingMergeTree, which doesn't keep every row",
		],
		[
			"if a column has another type",
			input(),
			table({ columns: [{ name: "event_id", type: "UUID" }] }),
			`its column "event_id" has type UUID, but the load needs String`,
		],
		[
			"if it is sorted in another order than the Pipeline wants",
			input({ options: { orderBy: ["event_id"] } }),
			table(),
			"it is sorted by (date, timestamp, event_id), and spec.table.clickHouse.orderBy is (event_id)",
		],
		[
			"but not for the order if the Pipeline wants none",
			input({ options: {} }),
			table({ sortingKey: "event_id" }),
			undefined,
		],
		[
			"nor for a key's parentheses and quotes",
			input({ options: { orderBy: ["date", "event_id"] } }),
			table({ sortingKey: "(`date`, event_id)", partitionKey: "(`date`)" }),
			undefined,
		],
		[
			"if it isn't partitioned by the date",
			input(),
			table({ partitionKey: "toYYYYMM(date)" }),
			`it is not partitioned by "date"`,
		],
		[
			"if a full reload finds partitions",
			full(),
			withoutDate({ partitionKey: "toYYYYMM(timestamp)" }),
			"it is partitioned by toYYYYMM(timestamp), and a full reload would undo that",
		],
		["but not without any", full(), withoutDate(), undefined],
	])("%s", (_, load, existing, reason) => {
		const found = clickHouseTables.found(existing, load, manifestOf());
		expect(found).toEqual({
			mark: ours,
			otherKind: undefined,
			isEmpty: false,
			incompatibility: reason,
		});
	});

	test("if it is a view, which has neither a mark nor rows of its own", () => {
		const view = table({ engine: "View", isEmpty: true });
		expect(clickHouseTables.found(view, input(), manifestOf())).toEqual({
			mark: undefined,
			otherKind: "View",
			isEmpty: false,
			incompatibility: "it is a View",
		});
	});

	test("but may be empty", () => {
		const empty = table({ isEmpty: true });
		expect(clickHouseTables.found(empty, input(), manifestOf())).toMatchObject({
			isEmpty: true,
		});
	});

	test("if it lacks a column that a table without a mark must have", () => {
		const columns = table().columns.slice(1);
		const found = (comment: ClickHouseTable["comment"]) =>
			clickHouseTables.found(
				table({ columns, comment }),
				input(),
				manifestOf(),
			);
		expect(found({ words: "" }).incompatibility).toBe(
			`it has no column "event_id"`,
		);
		expect(found(table().comment).incompatibility).toBeUndefined();
	});
});

test("a record is about columns and how they are filled", () => {
	const names = [columns, columns.slice(1), [...columns, header]].map(
		(columns) =>
			recordOf(clickHouseTables, input({ columns }), manifestOf(), undefined),
	);
	expect(new Set(names).size).toBe(names.length);
	const types = ["Integer", "Number"].map((type) => {
		const from = { bodyPointer: "/n", type } as TableColumn["from"];
		return clickHouseTables.filling(
			input({ columns: [{ name: "n", from }] }).table,
		)[0];
	});
	expect(types).toEqual([
		[[expect.objectContaining({ name: "n" }), "Nullable(Int64)"]],
		[[expect.objectContaining({ name: "n" }), "Nullable(Float64)"]],
	]);
});

describe("while rows change, the comment names", () => {
	const record = recordOf(clickHouseTables, input(), manifestOf(), undefined)!;
	const recorded = { ...ours, record };

	test("the record of the rows that stay, and afterwards too", () => {
		const comment = { words: "", mark: recorded };
		const found = plan(input(), table({ comment }));
		expect(found.record).toBe(record);
		expect(found.during).toContain(record);
		expect(found.after).toContain(record);
	});

	test("no record before there is one", () => {
		const found = plan(input(), table());
		expect(found.record).toBe(record);
		expect(found.during).not.toContain(record);
		expect(found.after).toContain(record);
	});
});

test("a day keeps its rows only if they are what they were, in a table that is kept", () => {
	const held: HeldDate = {
		rows: 1,
		digest: "d",
		loadedDigest: "d",
		loads: [],
	};
	const date = "2026-03-01";
	const kept = { rows: 1, unfit: {}, held };
	const days: LoadDay[] = [{ date, rows: 0, objects: [], steps: [], kept }];
	const now = new Map([[date, held]]);
	const changed = new Map([[date, { ...held, digest: "e" }]]);
	expect(plan(input(), table(), days, now).publish).toBe("Partitions");
	expect(() => plan(input(), table(), days, changed)).toThrow(TableChanged);
	expect(() => plan(input(), table(), days)).toThrow(TableChanged);
	expect(() => plan(input(), undefined, days, now)).toThrow(TableChanged);
});
