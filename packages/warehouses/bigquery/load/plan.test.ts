import { expect, test } from "vitest";
import { manifestOf } from "../../../../test/support/examples/manifest-example.ts";
import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { LoadDay } from "../../load/load-day.ts";
import type { BigQueryInput } from "../definition.ts";
import { isJobOf, jobIdOf, planBigQuery } from "./plan.ts";
import type { BigQueryField, BigQueryTable } from "./rest/google-refusal.ts";
import { labelsOf } from "./schema.ts";

const columns: TableColumn[] = [
	{ name: "event_id", from: "EventID" },
	{ name: "body", from: "Body" },
	{ name: "date", from: "Date" },
];
const ours = labelsOf({
	run: "earlier",
	snapshotMs: 0,
	pipeline: "shop/p",
	sourceKey: manifestOf().sourceKey,
});
const days: LoadDay[] = [
	{
		date: "2026-03-01",
		rows: 3,
		objects: [object("a", 1), object("b", 2)],
		steps: [],
	},
	{ date: "2026-03-02", rows: 0, objects: [], steps: [] },
];

function object(key: string, rows: number) {
	return { key, url: "", rows, bytes: 1, file: `/s/${key}` };
}

function tableWith(changes: Partial<BigQueryTable> = {}): BigQueryTable {
	return {
		tableReference: { projectId: "p", datasetId: "d", tableId: "orders" },
		type: "TABLE",
		labels: ours,
		timePartitioning: { type: "DAY", field: "date" },
		schema: {
			fields: [
				{ name: "event_id", type: "STRING" },
				{ name: "body", type: "STRING", mode: "NULLABLE" },
				{ name: "date", type: "DATE" },
			],
		},
		...changes,
	};
}

function input(more: Partial<LoadInput> = {}): LoadInput {
	return {
		version: 1,
		run: { name: "r", uid: "u-1", account: "shop", pipeline: "p" },
		destination: {
			type: "BigQuery",
			projectId: "p",
			dataset: "d",
			location: "EU",
			createDataset: false,
		},
		table: { name: "orders", columns, description: "" },
		strategy: "Incremental",
		rebuild: false,
		manifestURL: "http://x",
		...more,
	};
}

const full = input({
	strategy: "FullReload",
	table: { ...input().table, columns: columns.slice(0, 2) },
});
const { timePartitioning: _, ...unpartitioned } = tableWith({
	schema: { fields: tableWith().schema!.fields!.slice(0, 2) },
});

test("one load job replaces each day's partition; an empty day's partition is deleted", () => {
	expect(planBigQuery(input(), manifestOf(), days, tableWith())).toEqual({
		table: "Keep",
		newFields: [],
		loads: [{ name: "20260301", table: "orders$20260301", days: [days[0]] }],
		emptyDays: ["orders$20260302"],
	});
});

test("a new table has no partition to delete", () => {
	expect(planBigQuery(input(), manifestOf(), days, undefined)).toMatchObject({
		table: "Create",
		emptyDays: [],
	});
});

test("a full reload loads all days with events by one job into the table", () => {
	expect(planBigQuery(full, manifestOf(), days, unpartitioned)).toEqual({
		table: "Keep",
		newFields: [],
		loads: [{ name: "table", table: "orders", days: [days[0]] }],
		emptyDays: [],
	});
});

const json = { name: "body", type: "JSON" };
const repeated = { name: "body", type: "STRING", mode: "REPEATED" };
const [id, body, date] = tableWith().schema!.fields!;

test.each<[string, Partial<BigQueryTable>, string]>([
	["a view", { type: "VIEW" }, "it is a VIEW"],
	[
		"a table that isn't partitioned",
		{ timePartitioning: undefined } as unknown as Partial<BigQueryTable>,
		'it is not partitioned by day of "date"',
	],
	[
		"a table partitioned by month",
		{ timePartitioning: { type: "MONTH", field: "date" } },
		'it is not partitioned by day of "date"',
	],
	[
		"a table partitioned by day of another column",
		{ timePartitioning: { type: "DAY", field: "created" } },
		'it is not partitioned by day of "date"',
	],
	[
		"a column of another type",
		{ schema: { fields: [id!, json, date!] } },
		'its column "body" has type JSON, but the load needs STRING',
	],
	[
		"a repeated column",
		{ schema: { fields: [id!, repeated, date!] } },
		'its column "body" has type REPEATED STRING, but the load needs STRING',
	],
	[
		"a table without the date",
		{ schema: { fields: [id!, body!] } },
		'it has no column "date"',
	],
])(
	"%s is incompatible, and is replaced only if it may be rebuilt",
	(_, changes, words) => {
		const table = tableWith(changes);
		const planned = (more: Partial<LoadInput> = {}) =>
			planBigQuery(input({ adopt: true, ...more }), manifestOf(), days, table);
		expect(planned).toThrow(words);
		expect(planned({ rebuild: true })).toMatchObject({
			table: "Replace",
			emptyDays: [],
		});
	},
);

test("a table that stays gets the columns that it lacks, and a new one has them all", () => {
	const header = { name: "header_x_a", from: { header: "x-a" } };
	const { table } = input();
	const more = (changes: Partial<LoadInput> = {}) =>
		input({ table: { ...table, columns: [...columns, header] }, ...changes });
	const planned = (load: LoadInput, existing?: BigQueryTable) => {
		const plan = planBigQuery(load, manifestOf(), days, existing);
		return [plan.table, plan.newFields];
	};
	expect(planned(more(), tableWith())).toEqual([
		"Keep",
		[{ name: "header_x_a", type: "STRING" }],
	]);
	expect(planned(more())).toEqual(["Create", []]);
	const monthly = tableWith({
		timePartitioning: { type: "MONTH", field: "date" },
	});
	expect(planned(more({ rebuild: true }), monthly)).toEqual(["Replace", []]);
});

test("only a table that loads have filled may lack a column that all begin with", () => {
	const [, ...fields] = tableWith().schema!.fields!;
	const plan = (changes: Partial<BigQueryTable>) =>
		planBigQuery(
			input({ adopt: true }),
			manifestOf(),
			days,
			tableWith({ schema: { fields }, ...changes }),
		);
	expect(plan({}).newFields).toEqual([{ name: "event_id", type: "STRING" }]);
	expect(() => plan({ labels: {} })).toThrow('it has no column "event_id"');
});

test("a full reload replaces a table in which a column that load has found has another type", () => {
	const found: TableColumn = {
		name: "Amount",
		from: { bodyPointer: "/amount", type: "Number" },
		isFound: true,
	};
	const load: LoadInput = {
		...full,
		table: { ...full.table, columns: [...full.table.columns, found] },
	};
	const { fields } = unpartitioned.schema!;
	const planned = (...more: BigQueryField[]) =>
		planBigQuery(load, manifestOf(), days, {
			...unpartitioned,
			schema: { fields: [...fields!, ...more] },
		}).table;
	expect(planned({ name: "aMOUNT", type: "STRING" })).toBe("Replace");
	expect(planned({ name: "aMOUNT", type: "FLOAT" })).toBe("Keep");
	expect(planned()).toBe("Keep");
});

test("a table that can't get the Destination's key is incompatible", () => {
	const { destination } = input();
	const kmsKeyName = "projects/p/locations/europe/keyRings/r/cryptoKeys/k";
	const encrypted = input({
		destination: { ...(destination as BigQueryInput), kmsKeyName },
	});
	const plan = (table: BigQueryTable) =>
		planBigQuery(encrypted, manifestOf(), days, table).table;
	expect(() => plan(tableWith())).toThrow("not encrypted with a key");
	expect(plan(tableWith({ encryptionConfiguration: { kmsKeyName } }))).toBe(
		"Keep",
	);
});

test("a full reload never undoes partitioning", () => {
	const partitioned = { ...unpartitioned, timePartitioning: { type: "DAY" } };
	expect(() => planBigQuery(full, manifestOf(), days, partitioned)).toThrow(
		"it is partitioned",
	);
});

test("the same work always has the same job id", () => {
	expect(jobIdOf(manifestOf({ run: "u-1" }), "orders", "20260301", 2)).toBe(
		"tidemill_u-1_whole_orders_20260301_2",
	);
});

test("a Run knows its jobs by their ids", () => {
	const id = jobIdOf(manifestOf({ run: "u-1" }), "orders", "copy", 1);
	expect(isJobOf("u-1", id)).toBe(true);
	for (const other of ["u-2", "u"]) expect(isJobOf(other, id)).toBe(false);
});

test("a full reload without events empties the table by a load of nothing", () => {
	const { loads } = planBigQuery(full, manifestOf(), days.slice(1), undefined);
	expect(loads).toEqual([{ name: "table", table: "orders", days: [] }]);
});

test.each<[string, Partial<BigQueryTable>, boolean]>([
	["without rows", { numRows: "0" }, true],
	["with rows", { numRows: "1" }, false],
	["that doesn't say whether it has rows", {}, false],
	[
		"with rows that were streamed",
		{ numRows: "0", streamingBuffer: {} },
		false,
	],
	["that is a view", { type: "VIEW", numRows: "0", labels: ours }, false],
	["that is an external table", { type: "EXTERNAL", numRows: "0" }, false],
])(
	"only a table without rows needs no mark: one %s",
	(_, changes, isFilled) => {
		const table = tableWith({ labels: {}, ...changes });
		const planned = () =>
			planBigQuery(input(), manifestOf(), days, table).table;
		if (isFilled) expect(planned()).toBe("Keep");
		else expect(planned).toThrow("not this Pipeline's");
	},
);

const rest = manifestOf({
	asked: { extent: "Rest", start: "2026-03-01" },
});
const labels = labelsOf({
	run: "earlier",
	snapshotMs: 0,
	holds: { sourceKey: rest.sourceKey, through: "2026-02-28" },
});
const partitioning = { timePartitioning: { type: "MONTH", field: "date" } };
const lessColumns = {
	schema: { fields: tableWith().schema!.fields!.slice(0, 2) },
};

test.each<[string, BigQueryTable | undefined]>([
	["was dropped", undefined],
	["was made by somebody else, and is adopted", tableWith({ labels: {} })],
	["would have to be rebuilt", tableWith({ labels, ...partitioning })],
	["lacks a column", tableWith({ labels, ...lessColumns })],
])("a table that %s is not loaded with a part of its days", (_, existing) => {
	const rebuild = input({ rebuild: true, adopt: true });
	expect(() => planBigQuery(rebuild, rest, days, existing)).toThrow(
		"Table orders has not been loaded completely from this Source",
	);
});

test("a new column is loaded for all days, not for a part of them", () => {
	const header = { name: "header_x_a", from: { header: "x-a" } };
	const table = { ...input().table, columns: [...columns, header] };
	const existing = tableWith({ labels });
	expect(() => planBigQuery(input({ table }), rest, days, existing)).toThrow(
		"Table orders has not been loaded completely from this Source",
	);
});

test("a complete table is loaded with the rest of its days", () => {
	expect(
		planBigQuery(input(), rest, days, tableWith({ labels })),
	).toMatchObject({ table: "Keep", loads: [{ name: "20260301" }] });
});
