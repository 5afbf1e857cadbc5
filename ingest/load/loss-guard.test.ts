import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { LoadInput } from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import type { RowAccess } from "../../packages/warehouses/load/warehouse.ts";
import {
	findShrinking,
	type GuardedTable,
	isAddedTo,
	requireKept,
	withLost,
} from "./loss-guard.ts";
import type { UnrecordedDate } from "./lost-rows.ts";

const columns = (dated = true): LoadInput["table"]["columns"] => [
	{ name: "at", from: "Timestamp" },
	...(dated ? [{ name: "day", from: "Date" as const }] : []),
];

/** A warehouse with tables of so many rows on each date, and what it was asked. */
function warehouse(
	tables: Record<string, Record<string, number>>,
	reads = true,
) {
	const asked: string[] = [];
	const access = {
		dialect: {
			name: (name: string) => name,
			table: (name: string) => name,
			date: (date: string) => `'${date}'`,
		},
		tables: async () =>
			Object.keys(tables).map((name) => ({
				name,
				columns: [
					{ name: "AT", type: "TIMESTAMP", blank: undefined },
					{ name: "Day", type: "DATE", blank: undefined },
					{ name: "ID", type: "STRING", blank: undefined },
				],
			})),
		count: async (name: string, condition: string) => {
			asked.push(condition);
			return tables[name]![/'(.*)'/.exec(condition)![1]!] ?? 0;
		},
		...(reads && {
			async *read(query: string) {
				asked.push(query);
				const name = /FROM (\w+) WHERE/.exec(query)![1]!;
				if (query.startsWith("SELECT ID")) return;
				for (const [date, rows] of Object.entries(tables[name]!))
					yield [date.replaceAll("-", ""), String(rows)] as const;
			},
		}),
	} as unknown as RowAccess;
	return { rowAccess: () => access, asked };
}

const manifest = {
	snapshotTime: "2026-03-31T12:00:00Z",
	asked: { extent: "Whole" },
	dates: [{ date: "2026-03-30" }, { date: "2026-03-31" }],
} as Manifest;
const ofRows = (date: string, rows: number) => ({
	date,
	objects: [{ key: `${date}/s-1.parquet`, url: "", rows, bytes: 1 }],
});
const guarded = (
	names: string[],
	change: Partial<GuardedTable> = {},
): GuardedTable => ({
	table: { name: "orders", columns: columns(), description: "" },
	names,
	dates: [ofRows("2026-03-30", 5), ofRows("2026-03-31", 5)],
	heldOn: () => [],
	isRead: true,
	...change,
});
const run = { name: "r", pipeline: "p", account: "a" } as LoadInput["run"];
const incremental = {
	strategy: "Incremental" as const,
	rebuild: false,
	run,
};
const datesOf = (found: { date: string }[]) => found.map(({ date }) => date);

test.each([true, false])(
	"rows are counted by date where no record tells, by one query if the warehouse can (%s)",
	async (reads) => {
		const rows = { "2026-03-29": 99, "2026-03-30": 5, "2026-03-31": 6 };
		const { asked, ...access } = warehouse({ Orders: rows }, reads);
		const found = await findShrinking(
			access,
			[guarded(["orders"])],
			incremental,
			manifest,
		);
		expect(found).toEqual([
			{ table: "orders", date: "2026-03-31", rows: 6, left: 5, gone: [] },
		]);
		expect(asked).toEqual(
			reads
				? [
						"SELECT EXTRACT(YEAR FROM Day) * 10000 + EXTRACT(MONTH FROM Day) * 100 + EXTRACT(DAY FROM Day), COUNT(*) FROM Orders WHERE Day >= '2026-03-30' AND Day <= '2026-03-31' GROUP BY 1",
					]
				: ["Day = '2026-03-30'", "Day = '2026-03-31'"],
		);
	},
);

test("nothing is counted where records tell, and a loss that a Run accepts is none", async () => {
	const { asked, ...access } = warehouse({ orders: { "2026-03-31": 6 } });
	const load = { objects: ["gone.parquet"], rows: 1, unfit: {}, run: "" };
	const held = [{ rows: 1, digest: "", loadedDigest: "", loads: [load] }];
	const table = guarded(["orders"], { heldOn: () => held });
	const find = (acceptLoss: string[]) =>
		findShrinking(access, [table], { ...incremental, acceptLoss }, manifest);
	expect(datesOf(await find([]))).toEqual(["2026-03-30", "2026-03-31"]);
	expect(datesOf(await find(["2026-03-31"]))).toEqual(["2026-03-30"]);
	expect(asked).toEqual([]);
});

test("tables that stand for one are counted together, and others not at all", async () => {
	const access = warehouse({
		orders_a: { "2026-03-31": 3 },
		orders_other: { "2026-03-31": 3 },
		of_somebody: { "2026-03-31": 3 },
	});
	const find = (names: string[]) =>
		findShrinking(access, [guarded(names)], incremental, manifest);
	const found = await find(["orders_other", "orders_a"]);
	expect(found).toMatchObject([{ date: "2026-03-31", rows: 6 }]);
	expect(await find(["orders_other"])).toEqual([]);
});

test("a reload without dates may lose only those that left its range or may have expired", async () => {
	const access = warehouse({
		orders: { "2026-03-01": 1, "2026-03-02": 1, "2026-03-29": 1 },
	});
	const table = { name: "orders", columns: columns(false), description: "" };
	const find = (start?: string) =>
		findShrinking(
			access,
			[guarded(["orders"], { table })],
			{ ...incremental, strategy: "FullReload" },
			{ ...manifest, asked: { extent: "Whole", ...(start && { start }) } },
		);
	expect(datesOf(await find())).toEqual(["2026-03-02", "2026-03-29"]);
	expect(datesOf(await find("2026-03-03"))).toEqual(["2026-03-29"]);
	expect(datesOf(await find("2026-03-30"))).toEqual([]);
});

test("of a table that the Run takes over, rows of its former owner are no loss", async () => {
	const access = warehouse({ Orders: { "2026-03-31": 99 } });
	const found = (adopt?: true) =>
		findShrinking(
			access,
			[guarded(["orders"])],
			{ ...incremental, ...(adopt && { adopt }) },
			manifest,
		);
	expect(datesOf(await found())).toEqual(["2026-03-31"]);
	expect(await found(true)).toEqual([]);
});

test("no date can stay in a table that is replaced", () => {
	const lost = {
		table: "orders",
		date: "2026-03-31",
		rows: 6,
		left: 5,
		gone: [],
	};
	const refuse = (
		input: Partial<Pick<LoadInput, "strategy" | "rebuild">>,
		isRead: boolean,
		found = [lost],
	) =>
		requireKept(found, [guarded(["orders"], { isRead })], {
			...incremental,
			...input,
		});
	const refusal = "2026-03-31 (6 rows in table orders, 5 in the bucket's";
	expect(() => refuse({ strategy: "FullReload" }, true)).toThrow(refusal);
	expect(() => refuse({ rebuild: true }, false)).toThrow(refusal);
	for (const [input, isRead] of [
		[{}, false],
		[{ rebuild: true }, true],
	] as const)
		expect(() => refuse(input, isRead)).not.toThrow();
	expect(() => refuse({ strategy: "FullReload" }, true, [])).not.toThrow();
});

test("what is new is added where every table of the Run says what it holds of the date", () => {
	const date = "2026-03-31";
	const lost = { table: "orders", date, rows: 6, left: 5, gone: [] };
	const held = { rows: 6, digest: "", loadedDigest: "", loads: [] };
	const addition = { objects: [], kept: { rows: 6, unfit: {}, held } };
	const reading = new Map([[date, held]]);
	expect(isAddedTo({ ...lost, addition }, [reading, reading])).toBe(true);
	expect(isAddedTo({ ...lost, addition }, [reading, new Map()])).toBe(false);
	expect(isAddedTo({ ...lost, addition }, [reading, undefined])).toBe(false);
	expect(isAddedTo(lost, [reading])).toBe(false);
});

test("the ids of all dates that neither a record nor the numbers tell of are read by one query", async () => {
	const directory = mkdtempSync(join(tmpdir(), "loss-guard-"));
	onTestFinished(() => rmSync(directory, { recursive: true }));
	const rows = { "2026-03-30": 5, "2026-03-31": 4 };
	const { asked, ...access } = warehouse({ Orders: rows });
	const dates = new Set<UnrecordedDate>();
	const table = {
		name: "orders",
		columns: [{ name: "id", from: "EventID" as const }, ...columns()],
		description: "",
	};
	const tables = [guarded(["orders"], { table })];
	const unrecorded = { directory, dates };
	await findShrinking(access, tables, incremental, manifest, unrecorded);
	expect(asked.slice(1)).toEqual([
		expect.stringMatching(
			/^SELECT ID, .* FROM Orders WHERE Day IN \('2026-03-31', '2026-03-30'\)$/,
		),
	]);
	expect([...dates].map(({ date, rows }) => [date, rows])).toEqual([
		["2026-03-31", 4],
		["2026-03-30", 5],
	]);
});

test("a date that the numbers and the ids tell of stands once in the message", () => {
	const day = (date: string, table = "orders") => ({
		...{ table, date, rows: 6, left: 5, gone: [] },
	});
	const lost = { ...day("2026-03-31"), lost: 2 };
	const others = [day("2026-03-30"), day("2026-03-31", "orders_apart")];
	expect(withLost([...others, day("2026-03-31")], [lost])).toEqual([
		...others,
		lost,
	]);
});
