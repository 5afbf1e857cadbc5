import { expect } from "vitest";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import {
	first,
	later,
	second,
} from "../../support/fixtures/data-plane/conforming-days.ts";
import {
	daysOf,
	evolving,
	rescued,
	rowsOf,
	type Sent,
} from "../../support/fixtures/data-plane/evolving-days.ts";
import { columns as fixed } from "../../support/fixtures/data-plane/load-fixture.ts";
import type { WarehouseCase } from "./warehouse-case.ts";

/* Columns that follow the events, beside each other choice that a Pipeline has. */

/** Where a body may be something else than a text. */
const bodyTypes: Readonly<Record<string, string>> = {
	BigQuery: "JSON",
	Postgres: "jsonb",
};

export const evolvingBesideCases: WarehouseCase[] = [
	{
		name: "a new object of a day brings a column, and the day's other rows and what was rescued of them stay",
		run: async (warehouse) => {
			const { run } = evolving(warehouse, { adds: true });
			const objects: Sent[][] = [[["a", { n: 1 }]], [["b", { n: 2 }]]];
			let known: Manifest | undefined;
			const grown = async () => {
				const made = await daysOf(warehouse, { [first]: objects });
				// The objects that were there before are the same ones.
				const [day] = made.dates;
				const kept = known?.dates[0]?.objects ?? [];
				known = {
					...made,
					dates: [
						{ ...day!, objects: [...kept, ...day!.objects.slice(kept.length)] },
					],
				};
				return known;
			};
			await run(await grown());
			objects.push([["c", { n: "x" }]]);
			expect(await run(await grown())).toMatchObject({
				jobs: 1,
				rescuedRows: 1,
			});
			objects.push([["d", { n: 4, m: "y" }]]);
			expect(await run(await grown())).toMatchObject({
				jobs: 2,
				rescuedRows: 1,
			});
			objects.push([["e", { n: "z", m: "y" }]]);
			const last = await run(await grown());
			expect(last).toMatchObject({ jobs: 1, rows: 5, rescuedRows: 2 });
			if (warehouse.knowsRows) expect(last.addedRows).toBe(1);
			expect(await rowsOf(warehouse, ["n", "m", "_rescued"])).toEqual([
				["1", null, null],
				["2", null, null],
				[null, null, '{"n":"x"}'],
				["4", "y", null],
				[null, "y", '{"n":"z"}'],
			]);
			expect(await run(later(known!))).toMatchObject({
				jobs: 1,
				rescuedRows: 2,
			});
		},
	},
	{
		name: "a value that doesn't fit an inferred column is a row of the table of rejected values, and the rest of a body is none",
		run: async (warehouse) => {
			const { run } = evolving(warehouse, {
				rejectedTable: { name: "orders_rejected", description: "" },
			});
			await run(await daysOf(warehouse, { [first]: [[["a", { n: 1 }]]] }));
			const more = await daysOf(warehouse, {
				[second]: [
					[
						["b", { n: "x" }],
						["c", { n: 3 }],
					],
				],
			});
			await run({ ...more, asked: { extent: "Chosen" } });
			expect(
				await rowsOf(
					warehouse,
					["event_id", "column_name", "value"],
					"orders_rejected",
				),
			).toEqual([["b", "n", '"x"']]);
		},
	},
	{
		name: "the rows of rejected values say all also where the table has no column for a member, since its own has another type",
		run: async (warehouse) => {
			const rejectedTable = { name: "orders_rejected", description: "" };
			const decimal = { type: "Decimal", precision: 12, scale: 2 } as const;
			const own = { bodyPointer: "/amount", ...decimal };
			const before = await warehouse.load(
				await daysOf(warehouse, { [first]: [[["a", { amount: 1.5, n: 1 }]]] }),
				{
					input: {
						rejectedTable,
						table: {
							...{ name: "orders", description: "Events" },
							columns: [...fixed, { name: "amount", from: own }, rescued],
						},
					},
				},
			);
			expect(before.exitCode, before.log).toBe(0);
			const { run, found } = evolving(warehouse, { rejectedTable });
			Object.assign(found, { "/n": "Integer", "/amount": "Integer" });
			const more = await daysOf(warehouse, {
				[second]: [[["b", { n: "x", amount: 2 }]]],
			});
			const chosen: Manifest = { ...more, asked: { extent: "Chosen" } };
			for (const manifest of [chosen, later(chosen)]) {
				expect(await run(manifest)).toMatchObject({ jobs: 1, rescuedRows: 1 });
				expect(
					await rowsOf(
						warehouse,
						["event_id", "column_name", "value"],
						"orders_rejected",
					),
				).toEqual([["b", "n", '"x"']]);
			}
		},
	},
	{
		name: "the view of the latest rows has the columns that follow the events",
		run: async (warehouse) => {
			const { run } = evolving(warehouse, {
				table: {
					...{ name: "orders", description: "", columns: [] },
					latest: { name: "orders_latest", by: ["event_id"] },
				},
			});
			await run(await daysOf(warehouse, { [first]: [[["a", { n: 1 }]]] }));
			const more = await daysOf(warehouse, {
				[second]: [[["b", { n: 2, m: "x" }]]],
			});
			await run({ ...more, asked: { extent: "Chosen" } });
			expect(await rowsOf(warehouse, ["n", "m"], "orders_latest")).toEqual([
				["1", null],
				["2", "x"],
			]);
		},
	},
	{
		name: "a table that is replaced as a whole gets a column, and keeps it when its events have gone",
		run: async (warehouse) => {
			const { run } = evolving(warehouse, { strategy: "FullReload" });
			const one: Sent = ["a", { n: 1 }];
			await run(await daysOf(warehouse, { [first]: [[one]] }));
			const two: Sent = ["b", { n: "x", m: true }];
			const both = await daysOf(warehouse, {
				[first]: [[one]],
				[second]: [[two]],
			});
			expect(await run(both)).toMatchObject({ rows: 2, rescuedRows: 1 });
			expect(await rowsOf(warehouse, ["n", "_rescued"])).toEqual([
				["1", null],
				[null, '{"n":"x"}'],
			]);
			await run(await daysOf(warehouse, { [first]: [[one]] }));
			expect(await rowsOf(warehouse, ["n", "m"])).toEqual([["1", null]]);
		},
	},
	{
		name: "an event that the filter leaves out brings no column",
		run: async (warehouse) => {
			const { run, found } = evolving(warehouse, {
				filter: { match: { bodyPointer: "/kind", equals: "order" } },
			});
			const manifest = await daysOf(warehouse, {
				[first]: [
					[
						["a", { kind: "order", n: 1 }],
						["b", { kind: "visit", m: 1 }],
					],
				],
			});
			expect(await run(manifest)).toMatchObject({ rows: 1 });
			expect(Object.keys(found).sort()).toEqual(["/kind", "/n"]);
		},
	},
	{
		name: "an erasure by a value takes an older row, or blanks its columns and the rest of its body",
		run: async (warehouse) => {
			const { run } = evolving(warehouse);
			const ofDay = (date: string, email: string, n: unknown): Sent[][] => [
				[[`${date}-${email}`, { email, n }]],
			];
			await run(
				await daysOf(warehouse, {
					[first]: [
						[
							["a", { email: "hers", n: 1 }],
							["b", { email: "his", n: 2 }],
						],
					],
					[second]: ofDay(second, "other", 3),
				}),
			);
			const unfit = await daysOf(warehouse, {
				[first]: [
					[
						["a", { email: "hers", n: 1 }],
						["b", { email: "his", n: "x" }],
					],
				],
			});
			await run({ ...unfit, asked: { extent: "Chosen" } });
			const erasing = async (
				mode: "RemoveRow" | "BlankBody",
				equals: string,
			) => {
				const manifest = await daysOf(warehouse, {
					[second]: ofDay(second, "other", 3),
				});
				const match = { bodyPointer: "/email", equals };
				await run({
					...manifest,
					asked: { extent: "Chosen" },
					erasures: { asked: 1, others: [{ mode, match, before: second }] },
				});
				return rowsOf(warehouse, [
					"event_id",
					"email",
					"n",
					"_rescued",
					"body",
				]);
			};
			const other = [
				...[`${second}-other`, "other", "3", null],
				JSON.stringify({ email: "other", n: 3 }),
			];
			expect(await erasing("BlankBody", "his")).toEqual([
				other,
				["a", "hers", "1", null, '{"email":"hers","n":1}'],
				["b", null, null, null, "null"],
			]);
			expect((await erasing("RemoveRow", "hers")).map(([id]) => id)).toEqual([
				other[0],
				"b",
			]);
		},
	},
	{
		name: "events in quarantine bring no column, and their table has those of the spec",
		run: async (warehouse) => {
			const { run, found } = evolving(warehouse, {
				quarantineTable: {
					name: "orders_quarantine",
					description: "",
					columns: [...fixed, { name: "violations", from: "Violations" }],
				},
			});
			const [own, quarantined] = [
				await daysOf(warehouse, { [first]: [[["a", { n: 1 }]]] }),
				await daysOf(warehouse, { [first]: [[["q", { m: 1 }]]] }),
			];
			const { rows, objects } = quarantined.dates[0]!;
			const manifest: Manifest = {
				...own,
				dates: [{ ...own.dates[0]!, quarantine: { rows, objects } }],
			};
			expect(await run(manifest)).toMatchObject({
				rows: 1,
				quarantinedRows: 1,
			});
			expect(Object.keys(found)).toEqual(["/n"]);
			expect(
				await rowsOf(warehouse, ["event_id", "body"], "orders_quarantine"),
			).toEqual([["q", '{"m":1}']]);
			// Released, it is a row like any other.
			const released = {
				...own,
				dates: [
					{
						...own.dates[0]!,
						rows: 2,
						objects: [...own.dates[0]!.objects, ...objects],
					},
				],
			};
			expect(await run(later(released))).toMatchObject({ jobs: 2, rows: 2 });
			expect(await rowsOf(warehouse, ["event_id", "n", "m"])).toEqual([
				["a", "1", null],
				["q", null, "1"],
			]);
		},
	},
	{
		name: "a body that the warehouse's own JSON can't hold is NULL and counted, and its columns and the rest of it are there all the same",
		on: ["BigQuery", "Postgres"],
		run: async (warehouse, type) => {
			const { run, found } = evolving(warehouse, {
				table: {
					...{ name: "orders", description: "", columns: [] },
					options: { bodyType: bodyTypes[type] },
				},
			});
			// Half of a surrogate pair, which neither has.
			const half = "\ud800";
			const one = await daysOf(warehouse, {
				[first]: [
					[
						["a", { n: 1, note: "x", order: { paid: 5 } }],
						["b", { n: 2, note: half }],
					],
				],
			});
			const counted = (values: number) =>
				expect.arrayContaining([
					expect.objectContaining({ column: "body", rows: 1, values }),
				]);
			for (const again of [one, later(one)])
				expect(await run(again)).toMatchObject({
					rows: 2,
					unfitValues: counted(2),
				});
			expect(found).toEqual({
				"/n": "Integer",
				"/note": "String",
				"/order/paid": "Integer",
			});
			const two = await daysOf(warehouse, {
				[second]: [[["c", { n: "x", gift: 6, note: half }]]],
			});
			expect(await run({ ...two, asked: { extent: "Chosen" } })).toMatchObject({
				...{ jobs: 2, rows: 1, rescuedRows: 1 },
				unfitValues: counted(1),
			});
			expect(
				await rowsOf(warehouse, ["n", "order_paid", "gift", "_rescued"]),
			).toEqual([
				["1", "5", null, null],
				["2", null, null, null],
				[null, null, "6", '{"n":"x"}'],
			]);
			expect(
				await warehouse.rows(
					"SELECT event_id FROM orders WHERE body IS NULL ORDER BY event_id",
				),
			).toEqual([["b"], ["c"]]);
		},
	},
];
