import { expect } from "vitest";
import type {
	EventTypeTables,
	LoadInput,
	TableColumn,
} from "../../../packages/contracts/job.ts";
import type {
	Manifest,
	ManifestErasure,
} from "../../../packages/contracts/manifest.ts";
import {
	first,
	later,
	second,
	third,
} from "../../support/fixtures/data-plane/conforming-days.ts";
import type { ConformingWarehouse } from "../../support/fixtures/data-plane/conforming-warehouses.ts";
import { columns } from "../../support/fixtures/data-plane/load-fixture.ts";
import { allBut, type WarehouseCase } from "./warehouse-case.ts";

/* What is erased of older rows the tables decide, and not what the Pipeline has today. Tried on every type of warehouse. */

/** Of each date an event of hers and one of his. */
const wholeOf = async (warehouse: ConformingWarehouse): Promise<Manifest> =>
	warehouse.manifest(
		Object.fromEntries(
			[first, second, third].map((date) => [
				date,
				[
					["hers", "his"].map((tag) => ({
						event_id: `${date}-${tag}`,
						timestampMs: Date.parse(date),
						body: JSON.stringify({ email: `${tag}@shop`, n: tag, type: tag }),
					})),
				],
			]),
		),
	);

const fromBody = (
	name: string,
	type: "String" | "Integer" = "String",
): TableColumn => ({ name, from: { bodyPointer: `/${name}`, type } });
const email = fromBody("email");

const without = (...from: TableColumn["from"][]) =>
	columns.filter((column) => !from.includes(column.from));

const tableOf = (
	columns: TableColumn[],
	more: Partial<LoadInput["table"]> = {},
): Pick<LoadInput, "table"> => ({
	table: { name: "orders", description: "", columns, ...more },
});

async function loaded(
	warehouse: ConformingWarehouse,
	manifest: Manifest,
	input: Partial<LoadInput>,
) {
	const end = await warehouse.load(later(manifest), { input });
	expect(end.exitCode, end.log).toBe(0);
	if (end.result?.outcome !== "Succeeded") throw new Error(end.log);
	return end.result;
}

/** A Run of the latest date, since the bucket has the others no more. */
const latest = (
	warehouse: ConformingWarehouse,
	whole: Manifest,
	input: Partial<LoadInput>,
	...others: Omit<ManifestErasure, "before">[]
) =>
	loaded(
		warehouse,
		{
			...whole,
			dates: whole.dates.slice(2),
			erasures: {
				asked: 1,
				others: others.map((erasure) => ({ ...erasure, before: third })),
			},
		},
		input,
	);

const hers = { bodyPointer: "/email", equals: "hers@shop" };

/** Of the first two dates, in the order of ids; what says nothing is null. */
async function olderRows(
	warehouse: ConformingWarehouse,
	names: string,
	table = "orders",
): Promise<unknown[][]> {
	const rows = await warehouse.rows(
		`SELECT ${names} FROM ${table} WHERE date < '${third}' ORDER BY event_id`,
	);
	return rows.map((row) => row.map((value) => value || null));
}

const ids = async (warehouse: ConformingWarehouse, table = "orders") =>
	(await olderRows(warehouse, "event_id", table)).flat();

/** Bodies of the first date, each with an event whose id is its number here. */
const bodiesOf = (warehouse: ConformingWarehouse, bodies: string[]) =>
	warehouse.manifest({
		[first]: [
			bodies.map((body, index) => ({
				event_id: String(index),
				timestampMs: Date.parse(first) + index,
				body,
			})),
		],
		[third]: [],
	});

export const erasedCases: WarehouseCase[] = [
	{
		name: "a number is found by its digits, however it is written, also in a list and among members of one name, and no other number or string is",
		run: async (warehouse) => {
			const whole = await bodiesOf(warehouse, [
				'{"id":1}',
				'{"id":1.0}',
				'{ "id" : [2, 10e-1] }',
				'{"id":"1"}',
				'{"id":1.0000000000000000001}',
				'{"id":9007199254740993}',
				'{"id":9007199254740992}',
				'{"id":1e0,"id":7}',
				'{"id":["x","\\u0079"]}',
				'{"id":{"id":1}}',
			]);
			const today = tableOf(columns);
			await loaded(warehouse, whole, today);
			const left = async (
				match: { equals: string } | { equalsNumber: string },
			) => {
				await loaded(
					warehouse,
					{
						...whole,
						dates: whole.dates.slice(1),
						erasures: {
							asked: 1,
							others: [
								{
									mode: "RemoveRow",
									before: third,
									match: { bodyPointer: "/id", ...match },
								},
							],
						},
					},
					today,
				);
				return (await ids(warehouse)).map(Number);
			};
			expect(await left({ equalsNumber: "1.00" })).toEqual([3, 4, 5, 6, 8, 9]);
			expect(await left({ equalsNumber: "9007199254740993" })).toEqual([
				3, 4, 6, 8, 9,
			]);
			expect(await left({ equals: "1" })).toEqual([4, 6, 8, 9]);
			expect(await left({ equals: "y" })).toEqual([4, 6, 9]);
		},
	},
	{
		name: "where a table has no bodies, a number is found in a column of integers or in one of strings",
		shared: true,
		run: async (warehouse) => {
			const whole = await bodiesOf(warehouse, [
				'{"id":1.0,"text":2}',
				'{"id":2,"text":1}',
				'{"id":3,"text":1.0}',
				'{"id":4,"text":"one"}',
			]);
			const today = tableOf([
				...without("Body"),
				{ name: "id", from: { bodyPointer: "/id", type: "Integer" } },
				{ name: "text", from: { bodyPointer: "/text", type: "String" } },
			]);
			await loaded(warehouse, whole, today);
			const others = ["/id", "/text"].map((bodyPointer) => ({
				mode: "RemoveRow" as const,
				before: third,
				match: { bodyPointer, equalsNumber: "1.0" },
			}));
			const dates = whole.dates.slice(1);
			const erasures = { asked: 1, others };
			await loaded(warehouse, { ...whole, dates, erasures }, today);
			expect(await ids(warehouse)).toEqual(["3"]);
		},
	},
	{
		name: "a blank row says nothing but its id, its time and its date, whoever made the table's columns",
		run: async (warehouse) => {
			const whole = await wholeOf(warehouse);
			const run: TableColumn = { name: "run", from: "Run" };
			const all = [...columns, email, run, fromBody("n"), fromBody("type")];
			await loaded(warehouse, whole, tableOf(all));
			await warehouse.addColumn("note", "she called");
			// Two columns aren't the Pipeline's any more, and one has values of another place.
			const today = tableOf([
				...columns,
				run,
				{ name: "n", from: { bodyPointer: "/m", type: "String" } },
			]);
			const eventIDs = [`${first}-hers`];
			for (let times = 0; times < 2; times++)
				expect(
					await latest(warehouse, whole, today, {
						mode: "BlankBody",
						eventIDs,
					}),
				).not.toHaveProperty("warning");
			const names = "event_id, body, email, n, type, note, run";
			const row = (date: string, tag: string) => [
				`${date}-${tag}`,
				JSON.stringify({ email: `${tag}@shop`, n: tag, type: tag }),
				...[`${tag}@shop`, tag, tag, "she called", "run"],
			];
			expect(await olderRows(warehouse, names)).toEqual([
				[`${first}-hers`, "null", null, null, null, null, null],
				row(first, "his"),
				row(second, "hers"),
				row(second, "his"),
			]);
			const [[time] = []] = await olderRows(warehouse, "timestamp");
			expect(String(time)).toContain(first);
		},
	},
	{
		name: "rows that have the value in a column or in the body are found, also if the Pipeline has got or lost that column since",
		run: async (warehouse) => {
			const whole = await wholeOf(warehouse);
			const match = hers;
			await loaded(warehouse, whole, tableOf(columns));
			// A column that is younger than the rows.
			await latest(warehouse, whole, tableOf([...columns, email]), {
				mode: "RemoveRow",
				match: { ...match, equals: "his@shop" },
			});
			expect(await ids(warehouse)).toEqual([`${first}-hers`, `${second}-hers`]);
			// Neither the ID nor the body nor the value is the Pipeline's any more.
			const few = tableOf([...without("EventID", "Body"), fromBody("type")]);
			await latest(warehouse, whole, few, {
				mode: "BlankBody",
				eventIDs: [`${first}-hers`],
			});
			expect(await olderRows(warehouse, "event_id, body")).toMatchObject([
				[`${first}-hers`, "null"],
				[`${second}-hers`, expect.stringContaining("hers@shop")],
			]);
			await latest(warehouse, whole, few, { mode: "RemoveRow", match });
			expect(await ids(warehouse)).toEqual([`${first}-hers`]);
		},
	},
	{
		name: "a column whose comment says that its values are from the place tells where the body is missing",
		run: async (warehouse) => {
			const whole = await wholeOf(warehouse);
			await loaded(warehouse, whole, tableOf([...without("Body"), email]));
			const today = tableOf(without("Body"));
			const result = await latest(warehouse, whole, today, {
				mode: "RemoveRow",
				match: hers,
			});
			expect(result).not.toHaveProperty("warning");
			expect(await ids(warehouse)).toEqual([`${first}-his`, `${second}-his`]);
		},
	},
	{
		name: "rows without an id are found by their bodies, and are counted where an id alone could tell",
		run: async (warehouse) => {
			const whole = await wholeOf(warehouse);
			await loaded(warehouse, whole, tableOf(without("EventID")));
			const today = tableOf([...without("EventID"), columns[0]!]);
			const byID = await latest(warehouse, whole, today, {
				mode: "RemoveRow",
				eventIDs: [`${first}-hers`],
			});
			expect(byID.warning).toMatch(/^4 rows of table orders .*can't be erased/);
			const byValue = await latest(warehouse, whole, today, {
				mode: "RemoveRow",
				match: hers,
			});
			expect(byValue).not.toHaveProperty("warning");
			expect(await olderRows(warehouse, "body")).toEqual([
				[expect.stringContaining("his@shop")],
				[expect.stringContaining("his@shop")],
			]);
		},
	},
	{
		name: "a row that can't be blank goes as a whole, and the Run says so",
		run: async (warehouse) => {
			const whole = await wholeOf(warehouse);
			const options = warehouse.requiring?.("email");
			const table = (columns: TableColumn[]) =>
				tableOf(columns, options && { options });
			await loaded(warehouse, whole, table([...columns, email]));
			await warehouse.require?.("email");
			const result = await loaded(
				warehouse,
				{
					...whole,
					dates: [],
					erasures: {
						asked: 1,
						others: [{ mode: "BlankBody", match: hers, before: third }],
					},
				},
				table(columns),
			);
			expect(result.warning).toBe(
				// Also of the day of the Erase, if no Run loads that.
				'3 rows of table orders were erased as a whole, since column "email" can\'t be blank.',
			);
			expect(await ids(warehouse)).toEqual([`${first}-his`, `${second}-his`]);
		},
	},
	{
		name: "what the warehouse computes from the body of a blank row says nothing either",
		on: allBut("BigQuery"),
		run: async (warehouse) => {
			const whole = await wholeOf(warehouse);
			await loaded(warehouse, whole, tableOf(columns));
			await warehouse.addComputed!();
			expect(await olderRows(warehouse, "shout")).toContainEqual([
				expect.stringContaining("HERS@SHOP"),
			]);
			await latest(warehouse, whole, tableOf(columns), {
				mode: "BlankBody",
				match: hers,
			});
			const his = [expect.stringContaining("HIS@SHOP")];
			expect(await olderRows(warehouse, "shout")).toEqual([
				...[["NULL"], his],
				...[["NULL"], his],
			]);
		},
	},
	{
		name: "tables that the Pipeline has left keep nothing of who is erased, and no other Pipeline's table changes",
		run: async (warehouse) => {
			const whole = await wholeOf(warehouse);
			const quarantined = await wholeOf(warehouse);
			const days: Manifest = {
				...whole,
				dates: whole.dates.map((day, index) => {
					const { rows, objects } = quarantined.dates[index]!;
					return { ...day, quarantine: { rows, objects } };
				}),
			};
			const all = [...columns, fromBody("n", "Integer")];
			const apart: TableColumn = { name: "violations", from: "Violations" };
			const former: Partial<LoadInput> = {
				...tableOf(all),
				quarantineTable: {
					...tableOf([...all, apart]).table,
					name: "orders_apart",
				},
				rejectedTable: { name: "orders_rejected", description: "" },
			};
			await loaded(warehouse, days, former);
			// A dry run finds what an Erase would, and changes nothing.
			const counted = await loaded(warehouse, whole, {
				...former,
				counts: { mode: "RemoveRow", match: hers },
			});
			expect(counted).toMatchObject({ rows: 0, countedRows: 9 });
			expect(counted.warning).toMatch(
				/^9 rows would be erased or blanked(, 3 in table orders(_apart|_rejected|)){3}\.$/,
			);
			for (const table of ["orders", "orders_apart", "orders_rejected"])
				expect(await ids(warehouse, table)).toHaveLength(4);
			const renamed = later(whole);
			const other = { name: "run", uid: renamed.run, account: "shop" };
			const strange = await warehouse.load(renamed, {
				input: {
					...tableOf(columns, { name: "orders_strange" }),
					run: { ...other, pipeline: "q" },
				},
			});
			expect(strange.exitCode, strange.log).toBe(0);
			const today = tableOf(columns, { name: "orders_new" });
			const blank = { mode: "BlankBody" as const, eventIDs: [`${first}-hers`] };
			await latest(warehouse, whole, today, blank);
			for (const table of ["orders", "orders_apart"])
				expect(
					(await olderRows(warehouse, "event_id, body", table))[0],
				).toEqual([`${first}-hers`, "null"]);
			const rest = [`${first}-his`, `${second}-hers`, `${second}-his`];
			expect(await ids(warehouse, "orders_rejected")).toEqual(rest);
			const { warning } = await latest(warehouse, whole, today, {
				mode: "RemoveRow",
				match: hers,
			});
			// What told that a value was hers may have gone before it.
			expect(warning).toMatch(
				/^\d rows of table orders_rejected, which no Run loads, can't be erased/,
			);
			for (const table of ["orders", "orders_apart"])
				expect(await ids(warehouse, table)).toEqual([
					`${first}-hers`,
					`${first}-his`,
					`${second}-his`,
				]);
			expect(await ids(warehouse, "orders_rejected")).toEqual([
				`${first}-his`,
				`${second}-his`,
			]);
			expect(await ids(warehouse, "orders_strange")).toHaveLength(4);
		},
	},
	{
		name: "tables of types of events hold nothing of who is erased once all are in one table",
		run: async (warehouse) => {
			const whole = await wholeOf(warehouse);
			const eventTypes: EventTypeTables = {
				place: { bodyPointer: "/type" },
				tables: [{ type: "hers", table: "orders_hers" }],
				other: "orders_other",
				free: 0,
			};
			await loaded(warehouse, whole, { ...tableOf(columns), eventTypes });
			await latest(
				warehouse,
				whole,
				tableOf(columns),
				{ mode: "RemoveRow", match: hers },
				{ mode: "RemoveRow", eventIDs: [`${second}-his`] },
			);
			expect(await ids(warehouse, "orders_hers")).toEqual([]);
			expect(await ids(warehouse, "orders_other")).toEqual([`${first}-his`]);
		},
	},
];
