import { expect } from "vitest";
import type {
	LoadInput,
	TableColumn,
} from "../../../packages/contracts/job.ts";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import {
	again,
	amountOf,
	daysOf,
	first,
	later,
	loaded,
	withMore,
} from "../../support/fixtures/data-plane/conforming-days.ts";
import { columns } from "../../support/fixtures/data-plane/load-fixture.ts";
import { hostileTexts } from "../../support/strangers/hostile-texts.ts";
import type { WarehouseCase } from "./warehouse-case.ts";

/* What a table, its columns and its rows say of themselves. */

export const wordsCases: WarehouseCase[] = [
	{
		name: "a row says which Run wrote it and when, whatever later Runs add beside it",
		run: async (warehouse, type) => {
			const plain = await daysOf(warehouse, { [first]: [2, "a"] });
			await loaded(warehouse, plain);
			const byRun = (manifest: Manifest, name: string): Partial<LoadInput> => ({
				table: {
					name: "orders",
					columns: [
						...columns,
						{ name: "loaded_at", from: "LoadedAt" },
						{ name: "run", from: "Run" },
					],
					description: "",
				},
				run: { name, uid: manifest.run, account: "shop", pipeline: "p" },
				adds: true,
			});
			const written = async () =>
				(
					await warehouse.rows(
						"SELECT run, count(*), count(DISTINCT loaded_at), count(loaded_at) FROM orders GROUP BY run ORDER BY run",
					)
				).map(([run, ...counts]) => [run, ...counts.map(Number)]);
			// A table that lacks the columns gets them, and its days are loaded again.
			const before = again(plain);
			await loaded(warehouse, before, byRun(before, "one"));
			expect(await written()).toEqual([["one", 2, 1, 2]]);
			const more = await withMore(warehouse, before, { [first]: [3, "b"] });
			const result = await loaded(warehouse, more, byRun(more, "two"));
			if (warehouse.knowsRows) expect(result).toMatchObject({ addedRows: 3 });
			expect(await written()).toEqual(
				warehouse.knowsRows
					? [
							["one", 2, 1, 2],
							["two", 3, 1, 3],
						]
					: [["two", 5, 1, 5]],
			);
			const same = again(more);
			const repeated = await loaded(warehouse, same, byRun(same, "three"));
			if (warehouse.knowsRows)
				expect(repeated).toMatchObject({ unchangedDates: 1 });
			await warehouse.change("update", first);
			const mended = again(more);
			await loaded(warehouse, mended, byRun(mended, "four"));
			expect(await written()).toEqual(
				type.includes("Postgres")
					? [
							["four", 1, 1, 1],
							["one", 1, 1, 1],
							["two", 3, 1, 3],
						]
					: [["four", 5, 1, 5]],
			);
		},
	},
	{
		name: "each column says what it holds, also when that changes, and people's words stay",
		run: async (warehouse) => {
			const from = (
				bodyPointer: string,
				type: "Integer" | "String",
				...others: TableColumn[]
			): Partial<LoadInput> => ({
				table: {
					name: "orders",
					columns: [
						...columns,
						{ name: "amount", from: { bodyPointer, type } },
						...others,
					],
					description: "",
				},
			});
			const days = await warehouse.manifest({
				[first]: [
					[
						{
							...amountOf(first, "a", 1),
							body: JSON.stringify({ amount: 1, other: 2, email: "a@shop" }),
						},
					],
				],
			});
			await loaded(warehouse, later(days), from("/amount", "Integer"));
			const own = await warehouse.descriptions();
			expect(own).toMatchObject({
				event_id: "The event's id, unique in the table.",
				amount: expect.stringMatching(/^\/amount of the body, as Integer\./),
			});
			expect(Object.keys(own)).toHaveLength(columns.length + 1);
			await warehouse.describe("body", "Mine.");
			const email: TableColumn = {
				name: "email",
				from: { bodyPointer: "/email", type: "String" },
			};
			const changed = {
				...own,
				body: "Mine.",
				amount: own.amount!.replace("/amount", "/other"),
				email: expect.stringMatching(/^\/email of the body/),
			};
			const amounts = async () =>
				(await warehouse.rows("SELECT amount FROM orders")).flat().map(Number);
			expect(await amounts()).toEqual([1]);
			const other = {
				...from("/other", "Integer", email),
				adds: true as const,
			};
			for (let times = 0; times < 2; times++) {
				await loaded(warehouse, later(days), other);
				expect(await warehouse.descriptions()).toEqual(changed);
				// The column is filled anew.
				expect(await amounts()).toEqual([2]);
			}
			const rebuilt = { ...from("/other", "String", email), rebuild: true };
			await loaded(warehouse, later(days), rebuilt);
			expect(await warehouse.descriptions()).toEqual({
				...changed,
				amount: changed.amount.replace("Integer", "String"),
			});
		},
	},
	{
		name: "what strangers name stands in comments as it is, and is no SQL",
		run: async (warehouse) => {
			const texts = hostileTexts.filter((text) => text !== "");
			const named = texts.map(
				(text, index): TableColumn => ({
					name: `member_${index}`,
					from: { bodyPointer: `/${text}`, type: "String" },
				}),
			);
			const days = await warehouse.manifest({
				[first]: [
					[
						{
							...amountOf(first, "a", 1),
							body: JSON.stringify(
								Object.fromEntries(texts.map((text) => [text, text])),
							),
						},
					],
				],
			});
			await loaded(warehouse, days, {
				table: {
					name: "orders",
					columns: [...columns, ...named],
					description: texts.join(" "),
				},
			});
			const own = await warehouse.descriptions();
			for (const [index, { name }] of named.entries())
				expect(own[name]).toBe(
					`/${texts[index]} of the body, as String. NULL if it is missing or doesn't fit.`,
				);
			expect(await warehouse.rows("SELECT count(*) FROM orders")).toEqual([
				[expect.toSatisfy((count) => Number(count) === 1)],
			]);
		},
	},
	{
		name: "the table says which Source it is of and which Run loaded it last",
		run: async (warehouse) => {
			const days = await daysOf(warehouse, { [first]: [3, "a"] });
			for (const name of ["orders-1", "orders-2"]) {
				const manifest = later(days);
				await loaded(warehouse, manifest, {
					table: { name: "orders", columns, description: "Events of Source a" },
					run: { name, uid: manifest.run, account: "shop", pipeline: "p" },
				});
				const comment = await warehouse.comment();
				expect(comment).toContain("Events of Source a");
				expect(comment).toContain(manifest.run);
				if (warehouse.knowsRows)
					expect(comment).toContain(`"runName":"${name}"`);
			}
		},
	},
];
