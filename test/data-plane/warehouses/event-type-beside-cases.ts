import { expect } from "vitest";
import type {
	LoadInput,
	TableColumn,
} from "../../../packages/contracts/job.ts";
import type {
	Manifest,
	ManifestErasure,
	ManifestObject,
} from "../../../packages/contracts/manifest.ts";
import type { ObjectEvent } from "../../support/examples/parquet-object.ts";
import {
	first,
	later,
	second,
} from "../../support/fixtures/data-plane/conforming-days.ts";
import {
	adding,
	allCounts,
	byType,
	daysOf,
	eventsOfTypes,
	loaded,
	tablesFor,
	withMore,
} from "../../support/fixtures/data-plane/event-type-days.ts";
import { columns } from "../../support/fixtures/data-plane/load-fixture.ts";
import type { WarehouseCase } from "./warehouse-case.ts";

/* What is beside a table, and what else decides about its rows, holds where a Pipeline has a table for each type of event. Tried on every type of warehouse. */

const reloading: Partial<LoadInput> = {
	...byType,
	strategy: "FullReload",
	table: {
		name: "orders",
		columns: columns.filter(({ from }) => from !== "Date"),
		description: "",
	},
};

export const eventTypeBesideCases: WarehouseCase[] = [
	{
		name: "a full reload replaces each of the tables",
		run: async (warehouse) => {
			const rows = async (table: string) =>
				(
					await warehouse.rows(
						`SELECT event_id FROM orders_${table} ORDER BY event_id`,
					)
				).flat();
			for (const [tag, of] of [
				["a", { paid: 2, odd: 1 }],
				["b", { sent: 1 }],
			] as const) {
				const days = await daysOf(warehouse, { [first]: { [tag]: of } });
				await loaded(warehouse, days, reloading);
				const ids = (type: string) =>
					eventsOfTypes(first, tag, of)
						.map(({ event_id }) => event_id)
						.filter((id) => id.includes(`-${type}-`));
				expect(await rows("paid")).toEqual(ids("paid"));
				expect(await rows("sent")).toEqual(ids("sent"));
				expect(await rows("other")).toEqual(ids("odd"));
			}
		},
	},
	{
		name: "a full reload replaces the tables of rejected values and of quarantine with those for types, each with who loaded its rows",
		run: async (warehouse) => {
			const event = (id: string, body: object): ObjectEvent => ({
				event_id: id,
				timestampMs: Date.parse(first),
				body: JSON.stringify(body),
			});
			const own: TableColumn[] = [
				...reloading.table!.columns,
				{ name: "loaded_at", from: "LoadedAt" },
				{ name: "run", from: "Run" },
			];
			const n: TableColumn = {
				name: "n",
				from: { bodyPointer: "/n", type: "Integer" },
			};
			const input: Partial<LoadInput> = {
				...reloading,
				filter: { match: { bodyPointer: "/shop", equals: "1" } },
				table: { name: "orders", columns: [...own, n], description: "" },
				rejectedTable: { name: "orders_rejected", description: "" },
				quarantineTable: {
					name: "orders_apart",
					columns: [...own, { name: "violations", from: "Violations" }],
					description: "",
				},
			};
			const names = ["paid", "sent", "other", "rejected", "apart"];
			const reloaded = async (name: string, events: ObjectEvent[][]) => {
				const [days, apart] = await Promise.all(
					events.map((events) => warehouse.manifest({ [first]: [events] })),
				);
				const [{ rows, objects }] = apart!.dates as [Manifest["dates"][0]];
				const whole = later({
					...days!,
					dates: days!.dates.map((day) => ({
						...day,
						quarantine: { rows, objects },
					})),
				});
				const run = { name, uid: whole.run, account: "shop", pipeline: "p" };
				await loaded(warehouse, whole, { ...input, run });
				const found: Record<string, unknown[]> = {};
				for (const table of names) {
					const rows = await warehouse.rows(
						`SELECT event_id${table === "rejected" ? "" : ", run"} FROM orders_${table} ORDER BY event_id`,
					);
					found[table] = rows.map((row) => row.join(" "));
				}
				return found;
			};
			expect(
				await reloaded("one", [
					[
						event("a", { type: "paid", shop: 1, n: 1 }),
						event("b", { type: "sent", shop: 1, n: "x" }),
						event("c", { type: "odd", shop: 1, n: "y" }),
						event("d", { type: "paid", shop: 2, n: "z" }),
					],
					[event("h", { type: "paid", shop: 1, n: "x" })],
				]),
			).toEqual({
				paid: ["a one"],
				sent: ["b one"],
				other: ["c one"],
				rejected: ["b", "c"],
				apart: ["h one"],
			});
			expect(
				await reloaded("two", [
					[event("e", { type: "sent", shop: 1, n: 5 })],
					[event("i", { type: "sent", shop: 1 })],
				]),
			).toEqual({
				...{ paid: [], sent: ["e two"], other: [] },
				...{ rejected: [], apart: ["i two"] },
			});
		},
	},
	...(["replacement", "addition"] as const).map(
		(kind): WarehouseCase => ({
			name: `the ${kind} that is killed after any of its statements leaves each table's day as it was or as it will be, and the next attempt does the rest`,
			run: async (warehouse) => {
				const input = kind === "addition" ? adding : byType;
				for (
					let after = 1, isStruck = true;
					isStruck;
					after += 1 + (after >> 1)
				) {
					const before = await daysOf(warehouse, {
						[first]: { a: { paid: 3, sent: 2, odd: 1 } },
					});
					await loaded(warehouse, before);
					const other = await daysOf(warehouse, {
						[first]: { b: { paid: 2, sent: 5, odd: 3 } },
					});
					const next = kind === "addition" ? withMore(before, other) : other;
					const will =
						kind === "addition"
							? { paid: 5, sent: 7, other: 4 }
							: { paid: 2, sent: 5, other: 3 };
					const { isDone, signal } = warehouse.strike(after);
					await warehouse.load(next, { input, ...(signal && { signal }) });
					isStruck = isDone();
					const left = await allCounts(warehouse);
					expect([3, will.paid], `after ${after}`).toContain(left.paid[first]);
					expect([2, will.sent], `after ${after}`).toContain(left.sent[first]);
					expect([1, will.other], `after ${after}`).toContain(
						left.other[first],
					);
					await loaded(warehouse, next, input);
					expect(await allCounts(warehouse)).toEqual({
						paid: { [first]: will.paid },
						sent: { [first]: will.sent },
						other: { [first]: will.other },
					});
				}
			},
		}),
	),
	{
		name: "a filter, the columns that say who loaded a row, the tables of rejected values and of quarantine, and what was erased, hold beside the tables for types",
		run: async (warehouse) => {
			const event = (id: string, body: object): ObjectEvent => ({
				event_id: id,
				timestampMs: Date.parse(first),
				body: JSON.stringify(body),
			});
			const whole = await warehouse.manifest({
				[first]: [
					[
						event("a", { type: "paid", shop: 1, n: 1, email: "hers" }),
						event("b", { type: "paid", shop: 1, n: "x", email: "his" }),
						event("c", { type: "sent", shop: 1, n: "y", email: "hers" }),
						event("d", { type: "sent", shop: 1, n: 2, email: "his" }),
						event("e", { type: "sent", shop: 2, n: "z", email: "his" }),
						event("f", { shop: 1, n: "x", email: "hers" }),
						event("g", { type: "odd", shop: 1, n: 4, email: "his" }),
					],
				],
				[second]: [],
			});
			const held = await warehouse.manifest({
				[first]: [[event("h", { type: "paid", shop: 1 }), event("i", {})]],
			});
			const [{ rows, objects }] = held.dates as [Manifest["dates"][0]];
			const input: Partial<LoadInput> = {
				...byType,
				filter: { match: { bodyPointer: "/shop", equals: "1" } },
				table: {
					name: "orders",
					columns: [
						...columns,
						{ name: "n", from: { bodyPointer: "/n", type: "Integer" } },
						{ name: "loaded_at", from: "LoadedAt" },
						{ name: "run", from: "Run" },
					],
					description: "",
				},
				rejectedTable: { name: "orders_rejected", description: "" },
				quarantineTable: {
					name: "orders_apart",
					columns: [...columns, { name: "violations", from: "Violations" }],
					description: "",
				},
			};
			const days: Manifest = {
				...whole,
				dates: whole.dates.map((day) =>
					day.date === first ? { ...day, quarantine: { rows, objects } } : day,
				),
			};
			const ids = async (table: string) =>
				(
					await warehouse.rows(
						`SELECT event_id FROM orders_${table} ORDER BY event_id`,
					)
				).flat();
			const all = async () =>
				Object.fromEntries(
					await Promise.all(
						["paid", "sent", "other", "rejected", "apart"].map(
							async (table) => [table, await ids(table)] as const,
						),
					),
				);
			const before = {
				paid: ["a", "b"],
				sent: ["c", "d"],
				other: ["f", "g"],
				rejected: ["b", "c", "f"],
				apart: ["h"],
			};
			for (const adds of [false, true])
				expect(
					await loaded(warehouse, later(days), {
						...input,
						...(adds && { adds }),
					}),
				).toMatchObject({
					rows: 6,
					quarantinedRows: 1,
					unfitValues: [{ column: "n", rows: 3, values: 6 }],
				});
			expect(await all()).toEqual(before);
			const grown = withMore(
				days,
				await warehouse.manifest({
					[first]: [
						[
							event("j", { type: "paid", shop: 1, n: "x", email: "its" }),
							event("k", { type: "sent", shop: 2, n: "x", email: "its" }),
						],
					],
				}),
			);
			const run = { name: "next", uid: grown.run, account: "shop" };
			await loaded(warehouse, grown, {
				...input,
				adds: true,
				run: { ...run, pipeline: "p" },
			});
			expect(await all()).toEqual({
				...before,
				paid: ["a", "b", "j"],
				rejected: ["b", "c", "f", "j"],
			});
			const writers = await warehouse.rows(
				"SELECT run, count(loaded_at) FROM orders_paid GROUP BY run ORDER BY run",
			);
			expect(writers.map(([name, rows]) => `${name} ${rows}`)).toEqual(
				warehouse.knowsRows ? ["next 1", "run 2"] : ["next 3"],
			);
			const erase = (erasure: Omit<ManifestErasure, "before">) =>
				loaded(
					warehouse,
					{
						...later(whole),
						asked: { extent: "Chosen" },
						dates: whole.dates.slice(1),
						erasures: { asked: 1, others: [{ ...erasure, before: second }] },
					},
					input,
				);
			for (let times = 0; times < 2; times++)
				await erase({
					mode: "RemoveRow",
					match: { bodyPointer: "/email", equals: "hers" },
				});
			const without = {
				paid: ["b", "j"],
				sent: ["d"],
				other: ["g"],
				rejected: ["b", "j"],
				apart: ["h"],
			};
			expect(await all()).toEqual(without);
			await erase({ mode: "RemoveRow", eventIDs: ["b", "g", "h", "j"] });
			expect(await all()).toEqual({
				...without,
				paid: [],
				other: [],
				rejected: [],
				apart: [],
			});
		},
	},
	{
		name: "a type that gets its table by a Run that adds is no loss of a date whose rejected values are known",
		on: ["Postgres", "ClickHouse"],
		run: async (warehouse) => {
			const input = (...types: string[]): Partial<LoadInput> => ({
				adds: true,
				acceptLoss: [],
				eventTypes: tablesFor(...types),
				table: {
					name: "orders",
					columns: [
						...columns,
						{ name: "n", from: { bodyPointer: "/tag", type: "Integer" } },
					],
					description: "",
				},
				rejectedTable: { name: "orders_rejected", description: "" },
			});
			const before = await daysOf(warehouse, { [first]: { a: { paid: 3 } } });
			await loaded(warehouse, before, input("paid"));
			const more = await daysOf(warehouse, { [first]: { b: { sent: 2 } } });
			await loaded(warehouse, withMore(before, more), input("paid", "sent"));
			expect(await allCounts(warehouse)).toEqual({
				...{ paid: { [first]: 3 }, sent: { [first]: 2 }, other: {} },
			});
			const rejected = await warehouse.rows(
				"SELECT event_id FROM orders_rejected",
			);
			expect(rejected).toHaveLength(5);
		},
	},
	{
		name: "an event that is released or imported is in its type's table, once",
		run: async (warehouse) => {
			const events = async (...ids: [id: string, type: string][]) => {
				const found = await warehouse.manifest({
					[first]: [
						ids.map(([event_id, type]) => ({
							event_id,
							timestampMs: Date.parse(first),
							body: JSON.stringify({ type }),
						})),
					],
				});
				return found.dates[0]!.objects[0]!;
			};
			const own = await events(["a", "paid"], ["b", "sent"]);
			const held = [
				await events(["h", "paid"], ["o", "odd"]),
				await events(["i", "sent"]),
			];
			const rowsOf = (objects: readonly ManifestObject[]) =>
				objects.reduce((sum, { rows }) => sum + rows, 0);
			const whole = await warehouse.manifest({ [first]: [] });
			const dayOf = (...objects: ManifestObject[]): Manifest =>
				later({
					...whole,
					dates: [
						{
							date: first,
							rows: rowsOf(objects),
							objects,
							quarantine: { rows: rowsOf(held), objects: held },
						},
					],
				});
			const input: Partial<LoadInput> = {
				...adding,
				quarantineTable: { name: "orders_apart", columns, description: "" },
			};
			const ids = async () =>
				Object.fromEntries(
					await Promise.all(
						["paid", "sent", "other", "apart"].map(
							async (table) =>
								[
									table,
									(
										await warehouse.rows(
											`SELECT event_id FROM orders_${table} ORDER BY event_id`,
										)
									).flat(),
								] as const,
						),
					),
				);
			await loaded(warehouse, dayOf(own), input);
			const before = {
				paid: ["a"],
				sent: ["b"],
				other: [],
				apart: ["h", "i", "o"],
			};
			expect(await ids()).toEqual(before);
			const released: ManifestObject = {
				...held[0]!,
				key: "releases/000001-x.parquet",
				released: true,
			};
			const afterRelease = {
				paid: ["a", "h"],
				sent: ["b"],
				other: ["o"],
				apart: ["i"],
			};
			for (let times = 0; times < 2; times++) {
				await loaded(warehouse, dayOf(own, released), input);
				expect(await ids()).toEqual(afterRelease);
			}
			const imported: ManifestObject = {
				...(await events(["k", "sent"], ["l", "odd"], ["m", "paid"])),
				key: "imports/000001-y.parquet",
			};
			const afterImport = {
				paid: ["a", "h", "m"],
				sent: ["b", "k"],
				other: ["l", "o"],
				apart: ["i"],
			};
			// Added to the day, as it is, and in place of it.
			const { adds: _adds, ...replacing } = input;
			for (const how of [input, input, replacing]) {
				await loaded(warehouse, dayOf(own, released, imported), how);
				expect(await ids()).toEqual(afterImport);
			}
		},
	},
];
