import { describe, expect, test } from "vitest";
import { manifestOf } from "../../../../test/support/examples/manifest-example.ts";
import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { LoadDay } from "../../load/load-day.ts";
import type { TableMark } from "../../load/table-mark.ts";
import { recordOf } from "../../load/table-plan.ts";
import type { PostgresTable, RangePartition } from "./catalog.ts";
import {
	isChanged,
	partitionBy,
	planPostgres,
	postgresTables,
} from "./plan.ts";

const columns: TableColumn[] = [
	{ name: "event_id", from: "EventID" },
	{ name: "body", from: "Body" },
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
		destination: { type: "Postgres" },
		table: { name: "orders", columns, description: "from p", ...table },
		strategy: "Incremental",
		rebuild: false,
		manifestURL: "http://x",
		...more,
	};
}

const full = input(
	{ columns: columns.slice(0, 2) },
	{ strategy: "FullReload" },
);

function table(changes: Partial<PostgresTable> = {}): PostgresTable {
	return {
		oid: "1",
		columns: [
			{ name: "event_id", type: "text" },
			{ name: "body", type: "text" },
			{ name: "date", type: "date" },
		],
		comment: { words: "theirs", mark: ours },
		isEmpty: false,
		otherKind: undefined,
		partitionKey: "RANGE (date)",
		defaultPartition: undefined,
		...changes,
	};
}

const withoutDate = table({
	columns: table().columns.slice(0, 2),
	partitionKey: undefined,
});

const manifest = manifestOf({
	dates: [
		{ date: "2026-03-01", rows: 0, objects: [] },
		{ date: "2026-03-05", rows: 0, objects: [] },
	],
});

function plan(load: LoadInput, existing: PostgresTable | undefined) {
	return planPostgres(load, manifest, existing);
}

test("the first load makes the table, with words and a comment on each column", () => {
	const found = plan(input(), undefined);
	expect(found).toMatchObject({
		publish: "Days",
		creates: true,
		added: [],
		after: expect.stringMatching(/^from p\n/),
		mayKeep: false,
	});
	expect(found.comments.map(({ name }) => name)).toEqual([
		"event_id",
		"body",
		"date",
	]);
});

test("a later load changes days of the table, which gets the columns and comments that it lacks and keeps its words", () => {
	const commented = table();
	commented.columns[0]!.comment = "mine";
	const found = plan(input({ columns: [...columns, header] }), commented);
	expect(found).toMatchObject({
		publish: "Days",
		creates: false,
		added: [header],
		after: expect.stringMatching(/^theirs\n/),
	});
	expect(found.comments.map(({ name }) => name)).toEqual([
		"body",
		"date",
		"header_x",
	]);
});

test("a full reload changes no days, and records nothing of them", () => {
	const found = plan(full, withoutDate);
	expect(found.publish).not.toBe("Days");
	expect(found).toMatchObject({ creates: false, added: [], mayKeep: false });
	expect(found.record).toBeUndefined();
});

test("another table takes the place of one that is rebuilt", () => {
	const rebuilt = plan(
		input({}, { rebuild: true }),
		table({ partitionKey: undefined }),
	);
	expect(rebuilt).toMatchObject({ publish: "Swap", added: [] });
});

describe("days may keep their rows", () => {
	const record = recordOf(postgresTables, input(), manifest, undefined)!;
	const recorded = (record?: string) =>
		table({
			comment: { words: "", mark: { ...ours, ...(record && { record }) } },
		});

	test("of the record that the table has", () => {
		const found = plan(input(), recorded(record));
		expect(found).toMatchObject({ record, mayKeep: true });
		expect(found.during).toContain(record);
		expect(found.after).toContain(record);
	});

	test("not without one", () => {
		expect(plan(input(), recorded())).toMatchObject({ record, mayKeep: false });
	});

	test("not of a record about other columns", () => {
		expect(plan(input(), recorded("other"))).toMatchObject({
			record,
			mayKeep: false,
		});
	});

	test("and a column of another type is filled in another way", () => {
		const fillings = ["text", "jsonb"].map((bodyType) =>
			postgresTables.filling(input({ options: { bodyType } }).table),
		);
		expect(fillings[0]).not.toEqual(fillings[1]);
	});
});

describe("a name that Postgres would cut is refused", () => {
	// 64 bytes.
	const long = `${"ä".repeat(31)}yz`;
	const latest = { name: long, by: [], description: "" };

	test.each<[string, Partial<LoadInput["table"]>]>([
		["The table's name", { name: long }],
		["The column's name", { columns: [...columns, { ...header, name: long }] }],
		[
			"The view's name",
			{ latest: { ...latest, by: ["/id"] } } as unknown as Partial<
				LoadInput["table"]
			>,
		],
	])("%s", (what, changes) => {
		expect(() => plan(input(changes), undefined)).toThrow(
			`${what} "${long}" has 64 bytes`,
		);
	});

	test("but one of 63 bytes isn't, nor a view's that nobody makes", () => {
		const name = long.slice(0, -1);
		const changes = { name, latest } as unknown as Partial<LoadInput["table"]>;
		expect(plan(input(changes), undefined).creates).toBe(true);
	});
});

describe("a table is incompatible", () => {
	const month = (more: Partial<RangePartition>): RangePartition => ({
		name: "march",
		from: "2026-03-01",
		to: "2026-04-01",
		...more,
	});
	const partitioned = (more: Partial<RangePartition>) =>
		table({ otherPartitions: [month(more)] });
	const shared = `its partition "march" isn't that of one day, and a day is replaced as a partition of its own`;

	test.each<[string, LoadInput, PostgresTable, string | undefined]>([
		["unless it fits", input(), table(), undefined],
		["if it is a view", input(), table({ otherKind: "view" }), "it is a view"],
		[
			"if a column has another type",
			input({ options: { bodyType: "jsonb" } }),
			table(),
			`its column "body" has type text, but the load needs jsonb`,
		],
		[
			"if it has no partitions",
			input(),
			table({ partitionKey: undefined }),
			"it is not partitioned by RANGE (date)",
		],
		[
			"if it is partitioned by something else",
			input(),
			table({ partitionKey: "LIST (date)" }),
			"it is not partitioned by RANGE (date)",
		],
		[
			"but not for a key's quotes",
			input(),
			table({ partitionKey: `RANGE ("date")` }),
			undefined,
		],
		[
			"if a partition has a date of the Run and others",
			input(),
			partitioned({}),
			shared,
		],
		[
			"if it has the last date of the Run",
			input(),
			partitioned({ from: "2026-03-05", to: "2026-03-07" }),
			shared,
		],
		[
			"but not if it ends with the date",
			input(),
			partitioned({ from: "2026-02-01", to: "2026-03-01" }),
			undefined,
		],
		[
			"nor if it begins after the last one",
			input(),
			partitioned({ from: "2026-03-06", to: "2026-03-10" }),
			undefined,
		],
		[
			"nor if it is between the dates",
			input(),
			partitioned({ from: "2026-03-02", to: "2026-03-05" }),
			undefined,
		],
		[
			"if a partition's bounds aren't dates",
			input(),
			partitioned({ from: undefined, to: undefined }),
			shared,
		],
		[
			"if it has a default partition, which has no bounds",
			input(),
			table({
				defaultPartition: "rest",
				otherPartitions: [
					month({ name: "rest", from: undefined, to: undefined }),
				],
			}),
			`it has a default partition, "rest", which readers would wait for whenever a day is added`,
		],
		[
			"if a full reload finds partitions",
			full,
			{ ...withoutDate, partitionKey: "RANGE (n)" },
			"it is partitioned by RANGE (n), and a full reload would undo that",
		],
		["but not without any", full, withoutDate, undefined],
	])("%s", (_, load, existing, reason) => {
		const { incompatibility } = postgresTables.found(existing, load, manifest);
		expect(incompatibility).toBe(reason);
	});

	test("if it lacks a column that a table without a mark must have", () => {
		const columns = table().columns.slice(1);
		const found = (comment: PostgresTable["comment"]) =>
			postgresTables.found(table({ columns, comment }), input(), manifest);
		expect(found({ words: "" }).incompatibility).toBe(
			`it has no column "event_id"`,
		);
		expect(found(table().comment).incompatibility).toBeUndefined();
	});
});

test("what isn't a table has no mark", () => {
	const found = (existing: PostgresTable) =>
		postgresTables.found(existing, input(), manifest);
	expect(found(table({ isEmpty: true }))).toMatchObject({
		mark: ours,
		otherKind: undefined,
		isEmpty: true,
	});
	expect(found(table({ otherKind: "view" }))).toMatchObject({
		mark: undefined,
		otherKind: "view",
		isEmpty: false,
	});
});

test("a table is partitioned by its date, if it has one", () => {
	expect(partitionBy(columns)).toBe(` PARTITION BY RANGE ("date")`);
	expect(partitionBy(columns.slice(0, 2))).toBe("");
});

test.each<[string, Partial<LoadDay>, boolean]>([
	["is replaced, also by nothing", {}, true],
	["keeps its rows", { kept: keptRows() }, false],
	["gets more rows", { kept: keptRows(), objects: [object()] }, true],
	[
		"keeps rows whose objects have other names",
		{ kept: keptRows(["b"]) },
		true,
	],
])("whether a day is changed that %s", (_, changes, expected) => {
	const day: LoadDay = {
		date: "2026-03-01",
		rows: 0,
		objects: [],
		steps: [],
		...changes,
	};
	expect(isChanged(day)).toBe(expected);
});

function keptRows(renamed?: string[]): NonNullable<LoadDay["kept"]> {
	const held = { rows: 1, digest: "d", loadedDigest: "d", loads: [] };
	return { rows: 1, unfit: {}, held, ...(renamed && { renamed }) };
}

function object(): LoadDay["objects"][number] {
	return { key: "a", url: "", rows: 1, bytes: 1, file: "/s/a" };
}
