import { expect } from "vitest";
import type { LoadInput } from "../../../packages/contracts/job.ts";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import {
	again,
	amountOf,
	daysOf,
	first,
	fullReload,
	later,
	loaded,
	reloadOf,
	second,
	third,
} from "../../support/fixtures/data-plane/conforming-days.ts";
import type { ConformingWarehouse } from "../../support/fixtures/data-plane/conforming-warehouses.ts";
import {
	columns,
	type LoadEnd,
} from "../../support/fixtures/data-plane/load-fixture.ts";
import type { WarehouseCase } from "./warehouse-case.ts";

/* Whose a table is, and what it lacks, the table says: a Run leaves alone what isn't its Pipeline's. */

const chosen = { asked: { extent: "Chosen" } } as const;
const rest = {
	asked: { extent: "Rest", start: second },
	closedThrough: second,
} as const;

/** All that a load could have changed. */
const look = async (warehouse: ConformingWarehouse, table = "orders") => [
	await warehouse.rows(
		`SELECT event_id, body FROM ${table} ORDER BY event_id, body`,
	),
	table === "orders" && (await warehouse.comment()),
	table === "orders" && (await warehouse.descriptions()),
];

function isRefused(
	{ exitCode, result, log }: LoadEnd,
	code: string,
	words = "",
): void {
	expect(exitCode, log).toBe(65);
	expect(result).toMatchObject({
		error: {
			...{ code, retryable: false },
			message: expect.stringContaining(words),
		},
	});
}

const runOf = (account: string, pipeline: string, { run: uid }: Manifest) => ({
	run: { name: "r", uid, account, pipeline },
});

const typed = (type: "Integer" | "String"): Partial<LoadInput> => ({
	table: {
		name: "orders",
		description: "",
		columns: [
			...columns,
			{ name: "amount", from: { bodyPointer: "/amount", type } },
		],
	},
});

export const ownerCases: WarehouseCase[] = [
	{
		name: "a table with rows and no mark is refused before anything changes, in every mode; adopted, it loses the rows of the days that are loaded, and is the Pipeline's",
		promise: true,
		run: async (warehouse) => {
			const theirs = await daysOf(warehouse, {
				[first]: [3, "theirs"],
				[second]: [2, "theirs"],
			});
			await loaded(warehouse, theirs);
			await warehouse.unmark();
			const before = await look(warehouse);
			const days = await daysOf(warehouse, {
				[second]: [4, "a"],
				[third]: [0, "a"],
			});
			const rebuild = true;
			for (const [changes, input] of [
				[{}, {}],
				[{}, { adds: true }],
				[{}, { rebuild }],
				[{}, typed("Integer")],
				[chosen, {}],
				[rest, {}],
			] as [Partial<Manifest>, Partial<LoadInput>][]) {
				isRefused(
					await warehouse.load({ ...later(days), ...changes }, { input }),
					"TableNotOurs",
					"rows that no Run marked",
				);
				expect(await look(warehouse)).toEqual(before);
			}
			// What the other's rows say about days counts for nothing.
			const adopt = true;
			isRefused(
				await warehouse.load({ ...later(days), ...rest }, { input: { adopt } }),
				"TableIncomplete",
			);
			await loaded(warehouse, later(days), { adopt });
			const adopted = { [first]: 3, [second]: 4 };
			expect(await warehouse.counts()).toEqual(adopted);
			for (const [changes, input] of [
				[{}, {}],
				[rest, {}],
				[rest, { adds: true }],
			] as const) {
				await loaded(warehouse, { ...later(days), ...changes }, input);
				expect(await warehouse.counts()).toEqual(adopted);
			}
		},
	},
	{
		name: "a full reload doesn't wipe a table that it didn't make; adopted, it loses all its rows",
		run: async (warehouse) => {
			const days = (rows: number) => reloadOf(warehouse, { [first]: rows });
			await loaded(warehouse, await days(3), fullReload);
			await warehouse.unmark();
			const before = await look(warehouse);
			for (const rebuild of [false, true]) {
				const input = { ...fullReload, rebuild };
				const end = await warehouse.load(await days(1), { input });
				isRefused(end, "TableNotOurs");
				expect(await look(warehouse)).toEqual(before);
			}
			await loaded(warehouse, await days(1), { ...fullReload, adopt: true });
			expect(await warehouse.counts()).toEqual({ [first]: 1 });
			await loaded(warehouse, await days(2), fullReload);
			expect(await warehouse.counts()).toEqual({ [first]: 2 });
		},
	},
	{
		name: "a view is never taken for a table",
		run: async (warehouse) => {
			await warehouse.makeView("orders", "SELECT 'theirs' AS event_id");
			const ids = () => warehouse.rows("SELECT event_id FROM orders");
			const days = await daysOf(warehouse, { [first]: [1, "a"] });
			for (const input of [{}, { rebuild: true }, { adopt: true as const }]) {
				const end = await warehouse.load(later(days), { input });
				isRefused(end, input.adopt ? "TableIncompatible" : "TableNotOurs");
				if (!input.adopt)
					expect(JSON.stringify(end.result)).toMatch(/it is a view/i);
				expect(await ids()).toEqual([["theirs"]]);
			}
		},
	},
	{
		name: "a view is replaced by a table only if both fields say so",
		// Elsewhere a user who didn't make the view may not drop it.
		on: ["DuckDB", "BigQuery"],
		run: async (warehouse) => {
			await warehouse.makeView("orders", "SELECT 'theirs' AS event_id");
			const days = await daysOf(warehouse, { [first]: [1, "a"] });
			await loaded(warehouse, days, { adopt: true, rebuild: true });
			expect(await warehouse.counts()).toEqual({ [first]: 1 });
		},
	},
	{
		name: "an empty table without a mark is filled as it is, but never rebuilt",
		run: async (warehouse) => {
			const empty = await daysOf(warehouse, { [first]: [0, "a"] });
			await loaded(warehouse, empty, typed("String"));
			await warehouse.unmark();
			const before = await look(warehouse);
			const days = await daysOf(warehouse, { [first]: [2, "a"] });
			const input = { ...typed("Integer"), rebuild: true };
			isRefused(
				await warehouse.load(days, { input }),
				"TableNotOurs",
				'column "amount"',
			);
			expect(await look(warehouse)).toEqual(before);
			for (const manifest of [days, later(days)]) {
				await loaded(warehouse, manifest, typed("String"));
				expect(await warehouse.counts()).toEqual({ [first]: 2 });
			}
		},
	},
	{
		name: "a table of another Pipeline is refused, and the refusal names nobody; whoever adopts it has it",
		promise: true,
		run: async (warehouse) => {
			const days = await daysOf(warehouse, { [first]: [3, "a"] });
			await loaded(warehouse, days, runOf("rivals", "secret-pipeline", days));
			const before = await look(warehouse);
			const others = await daysOf(warehouse, { [first]: [2, "b"] });
			const refused = async (
				changes: Partial<Manifest>,
				[account, pipeline]: readonly [string, string],
				input: Partial<LoadInput> = {},
			) => {
				const manifest = { ...later(others), ...changes };
				const end = await warehouse.load(manifest, {
					input: { ...input, ...runOf(account, pipeline, manifest) },
				});
				isRefused(end, "TableNotOurs");
				expect(JSON.stringify(end)).not.toMatch(/rivals|secret-pip|0{32}/);
			};
			const ours = ["shop", "p"] as const;
			for (const [changes, input] of [
				[{}, {}],
				[{}, { rebuild: true }],
				[{ sourceKey: "e".repeat(32) }, { adds: true as const }],
				[{ asked: { extent: "Rest", start: first } }, {}],
			] as const)
				await refused(changes, ours, input);
			expect(await look(warehouse)).toEqual(before);
			await loaded(warehouse, later(others), { adopt: true });
			expect(await warehouse.counts()).toEqual({ [first]: 2 });
			// The same name in another namespace, too.
			const former = later(days);
			for (const [account, pipeline] of [
				["rivals", "secret-pipeline"],
				["rivals", "p"],
			] as const) {
				const input = runOf(account, pipeline, former);
				const end = await warehouse.load(former, { input });
				isRefused(end, "TableNotOurs");
			}
			expect(await warehouse.counts()).toEqual({ [first]: 2 });
			await loaded(warehouse, later(others));
		},
	},
	{
		name: "the same Pipeline goes on with a table that an early build filled, and marks it; one of another Source is refused",
		on: ["DuckDB", "BigQuery"],
		run: async (warehouse) => {
			const days = await daysOf(warehouse, {
				[first]: [3, "a"],
				[second]: [2, "a"],
			});
			await loaded(warehouse, days);
			await warehouse.markAsEarly!("e".repeat(32), "Events of shop");
			const before = await look(warehouse);
			const others = await warehouse.load(later(days), {
				input: { rebuild: true },
			});
			isRefused(others, "TableNotOurs");
			expect(await look(warehouse)).toEqual(before);
			await warehouse.markAsEarly!(days.sourceKey, "people's own words");
			const more = await daysOf(warehouse, { [second]: [4, "b"] });
			await loaded(warehouse, { ...more, ...rest }, { adds: true });
			const counts = { [first]: 3, [second]: 4 };
			expect(await warehouse.counts()).toEqual(counts);
			const next = later(days);
			const input = runOf("shop", "other", next);
			isRefused(await warehouse.load(next, { input }), "TableNotOurs");
			expect(await warehouse.counts()).toEqual(counts);
		},
	},
	{
		name: "a foreign table of quarantined events keeps the Run from changing either table",
		run: async (warehouse) => {
			const quarantineTable = {
				...{ name: "orders_apart", description: "" },
				columns: [
					...columns,
					{ name: "violations", from: "Violations" as const },
				],
			};
			const withHeld = async (tag: string) => {
				const made = await daysOf(warehouse, { [first]: [2, tag] });
				const held = await daysOf(warehouse, { [first]: [1, `${tag}-held`] });
				const [{ rows, objects }] = held.dates as [Manifest["dates"][number]];
				const [day] = made.dates;
				return { ...made, dates: [{ ...day!, quarantine: { rows, objects } }] };
			};
			await loaded(warehouse, await withHeld("a"), { quarantineTable });
			await warehouse.unmark("orders_apart");
			const both = async () => [
				await look(warehouse),
				await look(warehouse, "orders_apart"),
			];
			const before = await both();
			const next = await withHeld("b");
			for (const adds of [{}, { adds: true as const }]) {
				const input = { quarantineTable, ...adds };
				isRefused(
					await warehouse.load(again(next), { input }),
					"TableNotOurs",
					"Table orders_apart is not this Pipeline's",
				);
				expect(await both()).toEqual(before);
			}
			await loaded(warehouse, later(next), { quarantineTable, adopt: true });
			await loaded(warehouse, later(next), { quarantineTable });
			expect(await warehouse.rows("SELECT event_id FROM orders_apart")).toEqual(
				[[`${first}-b-held-0`]],
			);
		},
	},
	{
		name: "a load of the last days doesn't make a table, and continues one that holds the days before",
		promise: true,
		run: async (warehouse) => {
			const whole = await daysOf(warehouse, {
				[first]: [3, "a"],
				[second]: [2, "a"],
			});
			await loaded(warehouse, whole);
			const last = await daysOf(warehouse, { [second]: [4, "b"] });
			await loaded(warehouse, { ...last, ...rest });
			expect(await warehouse.counts()).toEqual({ [first]: 3, [second]: 4 });
			await warehouse.takeAway();
			const refused = { ...later(last), ...rest };
			isRefused(await warehouse.load(refused), "TableIncomplete");
			expect(await warehouse.counts()).toEqual({});
			// The same Run comes back.
			await loaded(warehouse, {
				...whole,
				...{ run: refused.run, snapshotTime: refused.snapshotTime },
			});
			expect(await warehouse.counts()).toEqual({ [first]: 3, [second]: 2 });
		},
	},
	{
		name: "a load of chosen days doesn't rebuild a table",
		run: async (warehouse) => {
			const days = await warehouse.manifest({
				[first]: [[amountOf(first, "a", 1)]],
				[second]: [[amountOf(second, "b", 2)]],
			});
			await loaded(warehouse, later(days), typed("Integer"));
			const part = { ...days, ...chosen, dates: days.dates.slice(0, 1) };
			await loaded(warehouse, later(part), typed("Integer"));
			const before = await look(warehouse);
			const input = { ...typed("String"), rebuild: true };
			isRefused(
				await warehouse.load(later(part), { input }),
				"TableIncomplete",
			);
			expect(await look(warehouse)).toEqual(before);
		},
	},
	{
		name: "a load that slept past its successor's end changes nothing",
		promise: true,
		run: async (warehouse) => {
			const sleeper = await daysOf(warehouse, { [first]: [3, "old"] });
			await loaded(warehouse, await daysOf(warehouse, { [first]: [2, "new"] }));
			isRefused(await warehouse.load(sleeper), "Superseded");
			expect(await warehouse.counts()).toEqual({ [first]: 2 });
		},
	},
];
