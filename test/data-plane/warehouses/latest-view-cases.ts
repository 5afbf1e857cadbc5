import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import type {
	LoadInput,
	TableColumn,
} from "../../../packages/contracts/job.ts";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import {
	first,
	later,
	loaded,
	second,
} from "../../support/fixtures/data-plane/conforming-days.ts";
import type { ConformingWarehouse } from "../../support/fixtures/data-plane/conforming-warehouses.ts";
import { columns } from "../../support/fixtures/data-plane/load-fixture.ts";
import { allBut, strikes, type WarehouseCase } from "./warehouse-case.ts";

/* The view of a table's latest rows, in every type of warehouse. */

const ofBody = (
	name: string,
	type: "String" | "Integer" = "String",
): TableColumn => ({ name, from: { bodyPointer: `/${name}`, type } });

const inputOf = (
	by: string[] = ["order_id"],
	more: TableColumn[] = [],
): Partial<LoadInput> => ({
	table: {
		name: "orders",
		columns: [...columns, ofBody("order_id", "Integer"), ...more],
		description: "",
		latest: { name: "orders_latest", by },
	},
});

/** The same without a date, so that each Run replaces the table. */
const reloading = (
	by: string[] = ["order_id"],
	more: TableColumn[] = [],
): Partial<LoadInput> => {
	const { table } = inputOf(by, more);
	return {
		strategy: "FullReload",
		table: {
			...table!,
			columns: table!.columns.filter(({ from }) => from !== "Date"),
		},
	};
};

function lacking(
	column: string,
	{ table, ...input }: Partial<LoadInput>,
): Partial<LoadInput> {
	const columns = table!.columns.filter(({ name }) => name !== column);
	return { ...input, table: { ...table!, columns } };
}

type Sent = [id: string, second: number, body: object];

async function daysOf(
	warehouse: ConformingWarehouse,
	days: Record<string, Sent[]>,
): Promise<Manifest> {
	const found = await warehouse.manifest(
		Object.fromEntries(
			Object.entries(days).map(([date, events]) => [
				date,
				[
					events.map(([event_id, second, body]) => ({
						event_id,
						timestampMs: Date.parse(date) + second * 1_000,
						body: JSON.stringify(body),
					})),
				],
			]),
		),
	);
	return later(found);
}

const latest = async (warehouse: ConformingWarehouse, what = "order_id") =>
	(
		await warehouse.rows(
			`SELECT event_id, ${what} FROM orders_latest ORDER BY event_id`,
		)
	).map((row) => row.map((value) => value && String(value)));

const orders: Record<string, Sent[]> = {
	[first]: [
		["a1", 1, { order_id: 1, region: "eu" }],
		["a2", 2, { order_id: 2, region: "eu" }],
		["a3", 3, { region: "eu" }],
		["a4", 9, { order_id: 3, region: "eu" }],
	],
	[second]: [
		["b1", 1, { order_id: 1, region: "us" }],
		["b3", 5, { order_id: 2, region: "us" }],
		["b2", 5, { order_id: 2, region: "us" }],
		["b4", 6, {}],
	],
};

/** The events that the view shall have of the rows that the table has now; undefined if the table lacks the key, or isn't there. */
async function latestOfTable(warehouse: ConformingWarehouse, key: string) {
	const rows = await warehouse
		.rows(`SELECT event_id, ${key} FROM orders ORDER BY timestamp, event_id`)
		.catch(() => undefined);
	if (!rows) return undefined;
	const ids = new Map(rows.map(([id, value]) => [String(value), String(id)]));
	return [...ids.values()].toSorted();
}

const latestIDs = async (warehouse: ConformingWarehouse) =>
	(
		await warehouse.rows("SELECT event_id FROM orders_latest ORDER BY event_id")
	).map(([id]) => String(id));

const region = ofBody("region");
/** Forth and back: each strikes the change from one to the other. */
const changes: [
	what: string,
	inputs: [key: string, input: Partial<LoadInput>][],
][] = [
	[
		"replacement with another key",
		[
			["order_id", inputOf(["order_id"], [region])],
			["region", inputOf(["region"], [region])],
		],
	],
	[
		"full reload with another key, whose column comes and goes",
		[
			["order_id", { ...reloading(), rebuild: true }],
			["region", { ...reloading(["region"], [region]), rebuild: true }],
		],
	],
	[
		"full reload with another key, when each table lacks the other's",
		[
			["order_id", { ...reloading(), rebuild: true }],
			[
				"region",
				{
					...lacking("order_id", reloading(["region"], [region])),
					rebuild: true,
				},
			],
		],
	],
	[
		"full reload in which one column takes the place of another",
		[
			["order_id", { ...reloading(["order_id"], [region]), rebuild: true }],
			[
				"order_id",
				{ ...reloading(["order_id"], [ofBody("shop")]), rebuild: true },
			],
		],
	],
];

/** Whether none of the tables has the key of the other. */
function hasOtherColumns(inputs: [key: string, input: Partial<LoadInput>][]) {
	return inputs.every(([key], index) =>
		inputs.every(
			([, { table }], other) =>
				other === index || !table!.columns.some(({ name }) => name === key),
		),
	);
}

export const latestViewCases: WarehouseCase[] = [
	{
		name: "the view has the latest row for each key, of several at once that with the largest id, and one for NULL",
		promise: true,
		run: async (warehouse) => {
			const manifest = await daysOf(warehouse, orders);
			await loaded(warehouse, manifest, inputOf());
			const expected = [
				["a4", "3"],
				["b1", "1"],
				["b3", "2"],
				["b4", null],
			];
			expect(await latest(warehouse)).toEqual(expected);
			expect(
				await warehouse.rows("SELECT count(*) FROM orders").then(String),
			).toBe("8");
			// The next Run finds it as it is, and what is new is in it at once.
			const more = await daysOf(warehouse, {
				...orders,
				[second]: [...orders[second]!, ["b9", 9, { order_id: 3 }]],
			});
			await loaded(warehouse, more, inputOf());
			expect(await latest(warehouse)).toEqual([
				...expected.slice(1),
				["b9", "3"],
			]);
			// Another key, and a column more.
			const wider = inputOf(["region", "order_id"], [ofBody("region")]);
			await loaded(warehouse, later(more), wider);
			expect(await latest(warehouse, "region")).toEqual([
				["a1", "eu"],
				["a2", "eu"],
				["a3", "eu"],
				["a4", "eu"],
				["b1", "us"],
				["b3", "us"],
				["b4", null],
				["b9", null],
			]);
		},
	},
	{
		name: "a full reload keeps the view, and a column of another type is in it",
		run: async (warehouse) => {
			const amount = (type: "String" | "Integer") => [ofBody("amount", type)];
			const days = await daysOf(warehouse, {
				[first]: [
					["a1", 1, { order_id: 1, amount: "7" }],
					["a2", 2, { order_id: 1, amount: "8" }],
				],
			});
			await loaded(warehouse, days, reloading(["order_id"], amount("String")));
			expect(await latest(warehouse, "amount")).toEqual([["a2", "8"]]);
			const more = await daysOf(warehouse, {
				[first]: [["a3", 3, { order_id: 1, amount: 9 }]],
			});
			await loaded(warehouse, more, reloading(["order_id"], amount("String")));
			expect(await latest(warehouse, "amount")).toEqual([["a3", "9"]]);
			await loaded(warehouse, later(more), {
				...reloading(["order_id"], amount("Integer")),
				rebuild: true,
			});
			expect(await latest(warehouse, "amount + 1")).toEqual([["a3", "10"]]);
			// One column less.
			await loaded(warehouse, later(more), { ...reloading(), rebuild: true });
			expect(await latest(warehouse)).toEqual([["a3", "1"]]);
		},
	},
	{
		name: "without a key the view goes, and what people have made under its name is never touched",
		run: async (warehouse) => {
			const days = await daysOf(warehouse, orders);
			for (const input of [inputOf, reloading]) {
				await loaded(warehouse, later(days), { ...input(), rebuild: true });
				expect(await latest(warehouse)).toHaveLength(4);
				const next = later(days);
				await loaded(warehouse, next, input([]));
				await expect(latest(warehouse)).rejects.toThrow();
			}
			await warehouse.makeView("orders_latest", "SELECT 'mine' AS event_id");
			const mine = () => warehouse.rows("SELECT event_id FROM orders_latest");
			await loaded(warehouse, later(days), reloading([]));
			expect(await mine()).toEqual([["mine"]]);
			const more = await daysOf(warehouse, {
				[first]: [["new", 1, { order_id: 1 }]],
			});
			const end = await warehouse.load(more, { input: reloading() });
			expect(end.result).toMatchObject({
				outcome: "Failed",
				error: {
					code: "ViewNotOurs",
					message: expect.stringMatching(
						/table orders can't be made.* a view orders_latest is there/,
					),
				},
			});
			expect(await mine()).toEqual([["mine"]]);
			expect(
				await warehouse.rows("SELECT count(*) FROM orders").then(String),
			).toBe("8");
		},
	},
	{
		name: "a view that people built on the view of latest rows ends no Run: new columns come beside its own, and where it holds the view, the Run says so",
		promise: true,
		run: async (warehouse, type) => {
			const days = await daysOf(warehouse, orders);
			await loaded(warehouse, days, inputOf(["order_id"], [region]));
			await warehouse.makeView(
				"orders_mart",
				"SELECT event_id, region FROM orders_latest",
			);
			const mart = async () =>
				(
					await warehouse.rows("SELECT event_id FROM orders_mart ORDER BY 1")
				).map(([id]) => String(id));
			const wider = (by: string[]): Partial<LoadInput> => {
				const { table } = inputOf(by, [ofBody("member"), region]);
				const header = { name: "header_x", from: { header: "x" } };
				const [id, ...others] = table!.columns;
				return { table: { ...table!, columns: [id!, header, ...others] } };
			};
			for (const [by, ids] of [
				[["order_id"], ["a4", "b1", "b3", "b4"]],
				[["region"], ["a4", "b3", "b4"]],
			] as const) {
				await loaded(warehouse, later(days), wider([...by]));
				expect(await mart()).toEqual(ids);
				expect(await latest(warehouse, "member")).toHaveLength(ids.length);
			}
			const { result, log } = await warehouse.load(later(days), {
				input: wider([]),
			});
			expect(result?.outcome, log).toBe("Succeeded");
			if (!type.includes("Postgres")) {
				await expect(latest(warehouse)).rejects.toThrow();
				return;
			}
			expect(result).toMatchObject({
				warning: expect.stringMatching(
					/View orders_latest stays.* view webhooks.orders_mart/,
				),
			});
			expect(await mart()).toEqual(["a4", "b3", "b4"]);
		},
	},
	...strikes.flatMap(({ which, step, ...rest }) =>
		changes.map(
			([what, inputs]): WarehouseCase => ({
				name: `the ${what} that is killed after ${which} of its statements leaves a view of the table as it is, and the next attempt the right one`,
				...rest,
				run: async (warehouse) => {
					const daysBy = (tag: string, rows: number) =>
						daysOf(
							warehouse,
							Object.fromEntries(
								[first, second].map((date) => [
									date,
									Array.from(
										{ length: rows },
										(_, i): Sent => [
											`${date}-${tag}-${i}`,
											i,
											{ order_id: i % 3, region: `r${i % 2}`, shop: "s" },
										],
									),
								]),
							),
						);
					const [forth, back = forth] = inputs;
					let [[was, before], [will, input]] = [forth!, back!];
					await loaded(warehouse, await daysBy("a", 4), before);
					for (let after = 1, isStruck = true; isStruck; after += step) {
						const next = await daysBy(`b${after}`, 4 + (after % 3));
						const { isDone, signal } = warehouse.strike(after);
						await warehouse.load(next, { input, ...(signal && { signal }) });
						isStruck = isDone();
						const expected = [
							await latestOfTable(warehouse, was),
							await latestOfTable(warehouse, will),
						].filter((ids) => ids !== undefined);
						// Where a table is dropped to be rebuilt, neither is there in between, and no view can be made before it has its columns.
						const isRebuilding =
							!warehouse.knowsRows && expected.every((ids) => ids.length === 0);
						if (
							expected.length > 0 &&
							!(isRebuilding && hasOtherColumns(inputs))
						)
							expect(expected, `after ${after}`).toContainEqual(
								await latestIDs(warehouse),
							);
						await loaded(warehouse, next, input);
						expect(await latestIDs(warehouse)).toEqual(
							await latestOfTable(warehouse, will),
						);
						[was, before, will, input] = [will, input, was, before];
					}
				},
			}),
		),
	),
	{
		name: "a view that a person changed is found: it is made anew, or left to that person, and the Run says so either way",
		run: async (warehouse) => {
			const days = await daysOf(warehouse, orders);
			await loaded(warehouse, days, inputOf());
			const right = await latest(warehouse);
			await warehouse.makeView(
				"orders_latest",
				"SELECT * FROM orders WHERE event_id = 'a1'",
			);
			expect(await latest(warehouse)).toEqual([["a1", "1"]]);
			const next = later(days);
			const end = await warehouse.load(next, { input: inputOf() });
			if (end.exitCode === 0) {
				expect(await latest(warehouse)).toEqual(right);
				const words = "View orders_latest wasn't as a Run had left it";
				expect(end.result).toMatchObject({
					warning: expect.stringContaining(words),
				});
				expect(end.log).toContain(words);
				// Once.
				const { result } = await warehouse.load(later(days), {
					input: inputOf(),
				});
				expect(result).not.toHaveProperty("warning");
			} else {
				expect(end.result).toMatchObject({ error: { code: "ViewNotOurs" } });
				expect(await latest(warehouse)).toEqual([["a1", "1"]]);
			}
		},
	},
	{
		name: "who reads the view all the time gets no error, and never half a day",
		on: allBut("DuckDB"),
		run: async (warehouse) => {
			const daysBy = (rows: number) =>
				daysOf(
					warehouse,
					Object.fromEntries(
						[first, second].map((date, day) => [
							date,
							Array.from(
								{ length: rows },
								(_, index): Sent => [
									`${date}-${rows}-${index}`,
									index,
									{ order_id: 2 * index + day, region: "eu" },
								],
							),
						]),
					),
				);
			await loaded(
				warehouse,
				await daysBy(300),
				inputOf(["order_id"], [region]),
			);
			const seen: Record<string, number>[] = [];
			let isReading = true;
			const reading = (async () => {
				while (isReading) {
					const rows = await warehouse.rows(
						"SELECT substr(event_id, 1, 10) AS day, count(*) FROM orders_latest GROUP BY 1",
					);
					seen.push(
						Object.fromEntries(rows.map(([day, rows]) => [day, Number(rows)])),
					);
					await delay(1);
				}
			})();
			// Or it would count as unhandled before the loads have ended.
			reading.catch(() => undefined);
			for (const key of [["order_id", "region"], ["order_id"]])
				await loaded(warehouse, await daysBy(500), inputOf(key, [region]));
			// Where a table isn't dropped to be rebuilt.
			if (warehouse.knowsRows)
				for (const [rows, columns] of [
					[700, []],
					[300, [region]],
					[500, [ofBody("shop")]],
				] as const)
					await loaded(warehouse, await daysBy(rows), {
						...reloading(["order_id"], [...columns]),
						rebuild: true,
					});
			isReading = false;
			await reading;
			expect(seen.length).toBeGreaterThan(1);
			for (const counts of seen)
				for (const date of [first, second])
					expect([300, 500, 700], JSON.stringify(counts)).toContain(
						counts[date],
					);
		},
	},
	...strikes.map(
		({ which, step, ...rest }): WarehouseCase => ({
			name: `after a person dropped the table, the view can be read whenever a table with rows can, though the Run is killed after ${which} of its statements, and the next Run makes both`,
			...rest,
			run: async (warehouse) => {
				const days = await daysOf(warehouse, orders);
				const next = () => later(days);
				for (let after = 1, isStruck = true; isStruck; after += step) {
					const before = inputOf(["region"], [region]);
					await loaded(warehouse, next(), { ...before, rebuild: true });
					await warehouse.takeAway();
					const { isDone, signal } = warehouse.strike(after);
					const input = inputOf();
					await warehouse.load(next(), { input, ...(signal && { signal }) });
					isStruck = isDone();
					const ids = await latestOfTable(warehouse, "order_id");
					if (ids?.length) expect(await latestIDs(warehouse)).toEqual(ids);
					await loaded(warehouse, next(), input);
					expect(await latestIDs(warehouse)).toEqual(["a4", "b1", "b3", "b4"]);
				}
			},
		}),
	),
	{
		name: "a table that a person renamed stays as it is, and the view is of the one that the next Run makes",
		run: async (warehouse, type) => {
			const days = await daysOf(warehouse, orders);
			await loaded(warehouse, days, inputOf());
			await warehouse.takeAway("orders_mine");
			const { [first]: rest } = orders;
			const less = await daysOf(warehouse, { [first]: rest! });
			const { result, log } = await warehouse.load(less, { input: inputOf() });
			expect(result?.outcome, log).toBe("Succeeded");
			expect(await latestIDs(warehouse)).toEqual(["a1", "a2", "a3", "a4"]);
			const [[count] = []] = await warehouse.rows(
				"SELECT count(*) FROM orders_mine",
			);
			expect(Number(count)).toBe(8);
			// There a view follows its table to another name.
			if (type.startsWith("Postgres"))
				expect(result).toMatchObject({
					warning: expect.stringContaining("renamed its table"),
				});
		},
	},
];
