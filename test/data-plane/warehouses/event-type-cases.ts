import { expect } from "vitest";
import type { EventTypeTables } from "../../../packages/contracts/job.ts";
import { nameDigest } from "../../../packages/contracts/name-digest.ts";
import {
	first,
	later,
	second,
} from "../../support/fixtures/data-plane/conforming-days.ts";
import {
	adding,
	allCounts,
	byType,
	countsIn,
	daysOf,
	eventsOfTypes,
	loaded,
	tablesFor,
	withMore,
} from "../../support/fixtures/data-plane/event-type-days.ts";
import type { WarehouseCase } from "./warehouse-case.ts";

/* What holds of a table holds of each, where a Pipeline has one for each type of event. Tried on every type of warehouse. */

export const eventTypeCases: WarehouseCase[] = [
	{
		name: "one Run loads each type into its table and the others into one, a repeat changes nothing, and a day that lost a type's events is empty there",
		promise: true,
		run: async (warehouse) => {
			const days = await daysOf(warehouse, {
				[first]: { a: { paid: 3, sent: 2, odd: 1 } },
				[second]: { a: { paid: 1, odd: 4 } },
			});
			const counts = {
				paid: { [first]: 3, [second]: 1 },
				sent: { [first]: 2 },
				other: { [first]: 1, [second]: 4 },
			};
			for (const manifest of [days, later(days)]) {
				expect(await loaded(warehouse, manifest)).toMatchObject({
					rows: 11,
					otherTypes: { rows: 5, types: 1 },
				});
				expect(await allCounts(warehouse)).toEqual(counts);
			}
			expect(
				await warehouse.rows("SELECT body FROM orders_sent ORDER BY event_id"),
			).toEqual(
				eventsOfTypes(first, "a", { sent: 2 }).map(({ body }) => [body]),
			);
			const lost = await daysOf(warehouse, {
				[first]: { b: { sent: 1 } },
				[second]: { b: {} },
			});
			await loaded(warehouse, {
				...lost,
				asked: { extent: "Chosen" },
				dates: lost.dates.slice(0, 1),
			});
			expect(await allCounts(warehouse)).toEqual({
				paid: { [second]: 1 },
				sent: { [first]: 1 },
				other: { [second]: 4 },
			});
		},
	},
	{
		name: "types that may get a table are named before anything changes, those with most events first",
		run: async (warehouse) => {
			const days = await daysOf(warehouse, {
				[first]: { a: { paid: 1, odd: 1 } },
				[second]: { a: { sent: 2, odd: 2 } },
			});
			const end = await warehouse.load(days, {
				input: { eventTypes: { ...tablesFor("paid"), free: 2 } },
			});
			expect(end.result).toMatchObject({
				outcome: "Failed",
				error: { code: "EventTypesFound", eventTypes: ["odd", "sent"] },
			});
			await expect(countsIn(warehouse, "paid")).rejects.toThrow();
			const one = { ...tablesFor("paid"), free: 1 };
			const next = await warehouse.load(days, { input: { eventTypes: one } });
			expect(next.result).toMatchObject({ error: { eventTypes: ["odd"] } });
		},
	},
	{
		name: "what is new is added to each table, what was changed by hand in one is found, and a table that is gone is loaded again",
		run: async (warehouse) => {
			const before = await daysOf(warehouse, {
				[first]: { a: { paid: 3, sent: 2 } },
				[second]: { a: { paid: 2, odd: 1 } },
			});
			await loaded(warehouse, before, adding);
			const more = withMore(
				before,
				await daysOf(warehouse, { [second]: { b: { sent: 4, odd: 1 } } }),
			);
			const counts = {
				paid: { [first]: 3, [second]: 2 },
				sent: { [first]: 2, [second]: 4 },
				other: { [second]: 2 },
			};
			const added = await loaded(warehouse, more, adding);
			expect(added).toMatchObject({ rows: 13 });
			if (warehouse.knowsRows)
				expect(added).toMatchObject({ addedRows: 5, unchangedDates: 1 });
			expect(await allCounts(warehouse)).toEqual(counts);
			const same = await loaded(warehouse, later(more), adding);
			if (warehouse.knowsRows)
				expect(same).toMatchObject({ addedRows: 0, unchangedDates: 2 });
			// As many in all, but not in each.
			await warehouse.change("delete", first, "orders_paid");
			await warehouse.change("insert", first, "orders_sent");
			const mended = await loaded(warehouse, later(more), adding);
			if (warehouse.knowsRows)
				expect(mended).toMatchObject({ repairedDates: [first] });
			expect(await allCounts(warehouse)).toEqual(counts);
			// A type gets a table, so events that were among the others go there.
			const withOdd = { eventTypes: tablesFor("paid", "sent", "odd") };
			const rest = { ...more.asked, extent: "Chosen" as const };
			const part = { ...later(more), asked: rest, dates: more.dates.slice(1) };
			const refused = await warehouse.load(part, {
				input: { ...adding, ...withOdd },
			});
			expect(refused.result).toMatchObject({
				error: { code: "TableIncomplete" },
			});
			await loaded(warehouse, later(more), { ...adding, ...withOdd });
			expect(await allCounts(warehouse)).toEqual({ ...counts, other: {} });
			expect(await countsIn(warehouse, "odd")).toEqual({ [second]: 2 });
		},
	},
	{
		name: "an event is in one table whatever types have had one, also if a table and its record are still there",
		run: async (warehouse) => {
			const days = await daysOf(warehouse, {
				[first]: { a: { paid: 3, sent: 2, odd: 1 } },
			});
			const countOf = async (table: string) =>
				(await countsIn(warehouse, table))[first];
			// With it, the ledger can't tell how many rows there should be.
			const filter = {
				match: { bodyPointer: "/tag", equals: "a" },
			};
			// A Pipeline that was deleted and applied again knows its tables no more, and finds them.
			for (const [names, others] of [
				[["paid", "sent"], 1],
				[["paid"], 3],
				[["paid", "sent"], 1],
			] as const) {
				const eventTypes = tablesFor(...names);
				const input = { eventTypes, filter, adds: true as const };
				await loaded(warehouse, later(days), input);
				expect(await countOf("other")).toBe(others);
				for (const name of names)
					expect(await countOf(name)).toBe(name === "paid" ? 3 : 2);
			}
		},
	},
	{
		name: "a type counts as it was sent, also if the tracking plan leaves it out of the table, and is a text or a number or a boolean",
		on: ["DuckDB"],
		run: async (warehouse) => {
			const omit = JSON.stringify({ plan: "p", version: "1", omit: ["/type"] });
			const bodies = [
				['{"type":"paid","n":1}', omit],
				['{"n":2,"type":"pa\\u0069d"}', ""],
				['{"type":5}', ""],
				['{"type":"5"}', omit],
				...['{"type":["paid"]}', '{"type":""}', '"paid"', "null"].map(
					(body) => [body, ""],
				),
				...["x".repeat(201), "a\nb"].map((type) => [
					JSON.stringify({ type }),
					"",
				]),
			];
			const days = await warehouse.manifest({
				[first]: [
					bodies.map(([body, violations], index) => ({
						event_id: String(index),
						timestampMs: Date.parse(first),
						body: body!,
						...(violations && { violations }),
					})),
				],
			});
			const eventTypes: EventTypeTables = {
				...tablesFor("paid"),
				tables: [
					{ type: "paid", table: "orders_paid" },
					{ type: "5", table: "orders_5" },
				],
				free: 9,
			};
			// Neither a type that is too long nor one with a line end may have a table.
			expect(await loaded(warehouse, days, { eventTypes })).toMatchObject({
				otherTypes: { rows: 2, types: 2 },
			});
			const ids = async (table: string) =>
				(
					await warehouse.rows(
						`SELECT event_id, body FROM orders_${table} ORDER BY event_id`,
					)
				).map(([id, body]) => `${id} ${body}`);
			expect(await ids("paid")).toEqual([
				'0 {"n":1}',
				'1 {"n":2,"type":"pa\\u0069d"}',
			]);
			expect(await ids("5")).toEqual(['2 {"type":5}', "3 {}"]);
			expect(await ids("other")).toHaveLength(6);
		},
	},
	{
		name: "a type whose table is somebody else's gets another, though the Pipeline adopts, and a table that can't be loaded keeps no other from its rows",
		promise: true,
		run: async (warehouse) => {
			const days = (tag: string) =>
				daysOf(warehouse, { [first]: { [tag]: { paid: 2, sent: 1, odd: 1 } } });
			await loaded(warehouse, await days("a"));
			await warehouse.unmark("orders_sent");
			const hasTag = async (table: string) =>
				(await warehouse.rows(`SELECT DISTINCT body FROM orders_${table}`)).map(
					([body]) => JSON.parse(String(body)).tag,
				);
			const taking = { adopt: true, rebuild: true } as const;
			const found = await warehouse.load(await days("b"), {
				input: { ...byType, ...taking },
			});
			expect(found.result).toMatchObject({
				error: { code: "EventTypesFound", takenTables: ["orders_sent"] },
			});
			expect(await hasTag("paid")).toEqual(["a"]);
			const digested = `sent_${nameDigest("sent", 0)}` as const;
			const tables = tablesFor("paid", "sent");
			tables.tables[1]!.table = `orders_${digested}`;
			const input = { eventTypes: tables, ...taking };
			await loaded(warehouse, await days("c"), input);
			expect(await hasTag(digested)).toEqual(["c"]);
			expect(await hasTag("sent")).toEqual(["a"]);
			// Its name is for good, whatever becomes of the table.
			await warehouse.unmark(`orders_${digested}`);
			const end = await warehouse.load(await days("d"), { input });
			expect(end.result).toMatchObject({ error: { code: "TableNotOurs" } });
			for (const [table, tag] of [
				["paid", "d"],
				["other", "d"],
				[digested, "c"],
			] as const)
				expect(await hasTag(table), table).toEqual([tag]);
		},
	},
];
