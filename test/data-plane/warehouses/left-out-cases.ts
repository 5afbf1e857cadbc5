import { expect } from "vitest";
import type { LoadInput } from "../../../packages/contracts/job.ts";
import type { ManifestErasure } from "../../../packages/contracts/manifest.ts";
import {
	amountOf,
	first,
	later,
	loaded,
	second,
	third,
} from "../../support/fixtures/data-plane/conforming-days.ts";
import { columns } from "../../support/fixtures/data-plane/load-fixture.ts";
import type { WarehouseCase } from "./warehouse-case.ts";

/* What isn't in a table, on every type of warehouse: values that no column holds, and events that were erased. */

const amount = (type: "Integer" | "String" | "Decimal") =>
	({
		name: "amount",
		from: {
			bodyPointer: "/amount",
			...(type === "Decimal" ? { type, precision: 4, scale: 2 } : { type }),
		},
	}) as const;
const rejecting = (
	type: "Integer" | "String" | "Decimal" = "Integer",
): Partial<LoadInput> => ({
	table: {
		name: "orders",
		columns: [...columns, amount(type)],
		description: "",
	},
	rejectedTable: { name: "orders_rejected", description: "" },
	adds: true,
});

const erasedEvent = (date: string, tag: string, email: string) => ({
	event_id: `${date}-${tag}`,
	timestampMs: Date.parse(date),
	body: JSON.stringify({ "a/b": { email }, n: [email, 5] }),
});

export const leftOutCases: WarehouseCase[] = [
	{
		name: "each value that a column can't hold is a row of a table beside it, which follows the table's days",
		promise: true,
		run: async (warehouse) => {
			const rejected = async (what = "column_name, value, reason") =>
				warehouse.rows(
					`SELECT event_id, CAST(date AS VARCHAR(10)), ${what} FROM orders_rejected ORDER BY event_id`,
				);
			const long = "ä".repeat(2_000);
			const days = {
				[first]: [
					[
						amountOf(first, "a1", 1),
						amountOf(first, "a2", "much"),
						amountOf(first, "a3", null),
					],
					[amountOf(first, "a4", { n: [1, "x"] })],
				],
				[second]: [[amountOf(second, "b1", 2)]],
			};
			const before = later(await warehouse.manifest(days));
			const unfit = (rows: number) => ({
				unfitValues: [expect.objectContaining({ column: "amount", rows })],
			});
			expect(await loaded(warehouse, before, rejecting())).toMatchObject(
				unfit(2),
			);
			const integer = "Not a whole number of 64 bits.";
			expect(await rejected()).toEqual([
				["a2", first, "amount", '"much"', integer],
				["a4", first, "amount", '{"n":[1,"x"]}', integer],
			]);
			// Later objects add theirs, and a repeat adds none.
			const found = await warehouse.manifest({
				[second]: [[amountOf(second, "b2", long), amountOf(second, "b3", 3)]],
			});
			const more = later({
				...before,
				dates: before.dates.map((day) =>
					day.date === second
						? {
								...day,
								rows: day.rows + 2,
								objects: [...day.objects, ...found.dates[0]!.objects],
							}
						: day,
				),
			});
			for (const manifest of [more, later(more)]) {
				// Those of rows that stay count, too.
				expect(await loaded(warehouse, manifest, rejecting())).toMatchObject(
					unfit(3),
				);
				expect(await rejected("column_name")).toEqual([
					["a2", first, "amount"],
					["a4", first, "amount"],
					["b2", second, "amount"],
				]);
			}
			const [, , [, , value] = []] = await rejected("value");
			expect(Buffer.byteLength(String(value))).toBeLessThanOrEqual(1_024);
			expect(value).toBe(`"${"ä".repeat(510)}…`);
			// Who changes rows by hand gets them back.
			if (warehouse.knowsRows) {
				const [{ date }] = [{ date: first }];
				await warehouse.change("delete", date, "orders_rejected");
				expect(await loaded(warehouse, later(more), rejecting())).toMatchObject(
					{
						repairedDates: [date],
					},
				);
				expect(await rejected("column_name")).toHaveLength(3);
			}
			// A column of another type rejects other values.
			const rebuilt = { ...rejecting("String"), rebuild: true };
			await loaded(warehouse, later(more), rebuilt);
			expect(await rejected("value, reason")).toEqual([
				["a4", first, '{"n":[1,"x"]}', "Not a text, a number, true or false."],
			]);
			// A day without events is empty in both.
			const emptied = later({
				...more,
				asked: { extent: "Chosen" },
				dates: [{ date: first, rows: 0, objects: [] }],
			});
			await loaded(warehouse, emptied, rejecting("String"));
			expect(await rejected()).toEqual([]);
		},
	},
	{
		name: "a full reload replaces the table of rejected values as a whole",
		run: async (warehouse) => {
			const reloading: Partial<LoadInput> = {
				...rejecting(),
				strategy: "FullReload",
				table: {
					name: "orders",
					columns: [
						...columns.filter(({ from }) => from !== "Date"),
						amount("Integer"),
					],
					description: "",
				},
			};
			for (const [id, day] of [
				["a", first],
				["b", second],
			] as const) {
				const found = await warehouse.manifest({
					[day]: [[amountOf(day, id, "x"), amountOf(day, "fits", 1)]],
				});
				await loaded(warehouse, later(found), reloading);
				expect(
					await warehouse.rows(
						"SELECT event_id, CAST(date AS VARCHAR(10)), value FROM orders_rejected",
					),
				).toEqual([[id, day, '"x"']]);
			}
		},
	},
	{
		name: "a Run that is killed between its statements leaves rejected values as they were or as they will be, and the next attempt does the rest",
		run: async (warehouse) => {
			const withRows = async (of: number) =>
				later(
					await warehouse.manifest({
						[first]: [
							Array.from({ length: of }, (_, n) =>
								amountOf(first, `${of}-${n}`, "x"),
							),
						],
					}),
				);
			const ids = async (table: string) =>
				(
					await warehouse.rows(
						`SELECT event_id FROM ${table} ORDER BY event_id`,
					)
				).flat();
			const states = { 2: ["2-0", "2-1"], 3: ["3-0", "3-1", "3-2"] } as const;
			await loaded(warehouse, await withRows(2), rejecting());
			let [was, will] = [2, 3] as (2 | 3)[];
			for (let after = 1, isStruck = true; isStruck; after += 3) {
				const next = await withRows(will!);
				const { isDone, signal } = warehouse.strike(after);
				await warehouse.load(next, {
					input: rejecting(),
					...(signal && { signal }),
				});
				isStruck = isDone();
				const left = await ids("orders_rejected");
				expect([states[was!], states[will!]], `after ${after}`).toContainEqual(
					left,
				);
				// The table comes first.
				if (left.length === will)
					expect(await ids("orders"), `after ${after}`).toEqual(left);
				await loaded(warehouse, next, rejecting());
				expect(await ids("orders_rejected")).toEqual(states[will!]);
				[was, will] = [will, was];
			}
		},
	},
	{
		name: "what was erased is gone from the table of rejected values, too",
		run: async (warehouse) => {
			const whole = await warehouse.manifest({
				[first]: [[amountOf(first, "hers", "x"), amountOf(first, "his", "y")]],
				[second]: [[amountOf(second, "other", "z")]],
				[third]: [],
			});
			await loaded(warehouse, later(whole), rejecting());
			const ids = async (table: string) =>
				(
					await warehouse.rows(
						`SELECT event_id FROM ${table} ORDER BY event_id`,
					)
				).flat();
			expect(await ids("orders_rejected")).toEqual(["hers", "his", "other"]);
			const erase = (erasure: Omit<ManifestErasure, "before">) =>
				loaded(
					warehouse,
					{
						...later(whole),
						asked: { extent: "Chosen" },
						dates: whole.dates.slice(2),
						erasures: { asked: 1, others: [{ ...erasure, before: third }] },
					},
					rejecting(),
				);
			const match = { bodyPointer: "/email", equals: "hers@shop" };
			for (let times = 0; times < 2; times++)
				await erase({ mode: "RemoveRow", match });
			expect(await ids("orders_rejected")).toEqual(["his", "other"]);
			expect(await ids("orders")).toEqual(["his", "other"]);
			await erase({ mode: "BlankBody", eventIDs: ["his", "none"] });
			expect(await ids("orders_rejected")).toEqual(["other"]);
			expect(await ids("orders")).toEqual(["his", "other"]);
		},
	},
	{
		name: "what was erased is gone from rows of dates that no Run loads, or blank, and no other row changes",
		promise: true,
		run: async (warehouse) => {
			const whole = await warehouse.manifest(
				Object.fromEntries(
					[first, second, third].map((date) => [
						date,
						[
							[
								erasedEvent(date, "hers", 'it\'s "she"\\'),
								erasedEvent(date, "his", "he"),
								erasedEvent(date, "other", "1"),
							],
						],
					]),
				),
			);
			const load = async (others: ManifestErasure[]) =>
				loaded(warehouse, {
					...later(whole),
					asked: { extent: "Chosen" },
					dates: whole.dates.slice(2),
					erasures: { asked: 1, others },
				});
			await loaded(warehouse, later(whole));
			const before = third;
			const match = { bodyPointer: "/a~1b/email", equals: 'it\'s "she"\\' };
			// Neither another member, nor a number, nor a part of a value.
			for (const none of [
				{ ...match, bodyPointer: "/n/1" },
				{ bodyPointer: "/n/1", equals: "5" },
				{ ...match, equals: "it's" },
			])
				await load([{ mode: "RemoveRow", before, match: none }]);
			expect(await warehouse.counts()).toEqual({
				[first]: 3,
				[second]: 3,
				[third]: 3,
			});
			for (let times = 0; times < 2; times++)
				await load([{ mode: "RemoveRow", before, match }]);
			expect(await warehouse.counts()).toEqual({
				[first]: 2,
				[second]: 2,
				[third]: 3,
			});
			const eventIDs = [`${first}-his`, "no-such"];
			await load([{ mode: "BlankBody", before, eventIDs }]);
			expect(await warehouse.counts()).toMatchObject({ [first]: 2 });
			// What is blank no longer matches, and its id still does.
			const his = { bodyPointer: "/n/0", equals: "he" };
			await load([
				{ mode: "RemoveRow", before, match: his },
				{ mode: "RemoveRow", before: second, eventIDs: [`${second}-other`] },
			]);
			expect(await warehouse.counts()).toEqual({
				[first]: 2,
				[second]: 1,
				[third]: 3,
			});
			await load([{ mode: "RemoveRow", before, eventIDs }]);
			expect(await warehouse.counts()).toEqual({
				[first]: 1,
				[second]: 1,
				[third]: 3,
			});
		},
	},
];
