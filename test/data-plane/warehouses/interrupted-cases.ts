import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import type { LoadInput } from "../../../packages/contracts/job.ts";
import {
	daysOf,
	first,
	fullReload,
	loaded,
	reloadOf,
	second,
	third,
	withMore,
} from "../../support/fixtures/data-plane/conforming-days.ts";
import type { RowCounts } from "../../support/fixtures/data-plane/conforming-warehouses.ts";
import { allBut, strikes, type WarehouseCase } from "./warehouse-case.ts";

/* A day is whole, whenever a Run is killed and whoever reads. */

const kinds = ["replacement", "addition", "full reload"] as const;

export const interruptedCases: WarehouseCase[] = [
	...strikes.flatMap(({ which, step, ...rest }) =>
		kinds.map(
			(kind): WarehouseCase => ({
				name: `the ${kind} that is killed after ${which} of its statements leaves each day as it was or as it will be, and the next attempt does the rest`,
				...rest,
				run: async (warehouse) => {
					const isReload = kind === "full reload";
					const isAddition = kind === "addition";
					const input: Partial<LoadInput> = isReload
						? fullReload
						: isAddition
							? { adds: true }
							: {};
					const daysWith = (rows: RowCounts, tag: string) =>
						isReload
							? reloadOf(warehouse, rows)
							: daysOf(warehouse, {
									[first]: [rows[first]!, tag],
									[second]: [rows[second]!, tag],
								});
					let was: RowCounts = { [first]: 3, [second]: 2 };
					let will: RowCounts = { [first]: 4, [second]: 6 };
					let before = await daysWith(was, "a");
					await loaded(warehouse, before, isReload ? fullReload : {});
					for (let after = 1, isStruck = true; isStruck; after += step) {
						const next = isAddition
							? await withMore(warehouse, before, {
									[first]: [1, `b${after}`],
									[second]: [4, `b${after}`],
								})
							: await daysWith(will, String(after));
						const { isDone, signal } = warehouse.strike(after);
						await warehouse.load(next, { input, ...(signal && { signal }) });
						isStruck = isDone();
						const left = await warehouse.counts();
						for (const date of [first, second])
							expect(
								[was[date], will[date]],
								`${date} after ${after}`,
							).toContain(left[date]);
						if (isReload)
							expect([was, will], "both days at once").toContainEqual(left);
						await loaded(warehouse, next, input);
						expect(await warehouse.counts()).toEqual(will);
						// The next is struck on the way back, or adds more.
						before = next;
						[was, will] = [
							will,
							isAddition
								? { [first]: will[first]! + 1, [second]: will[second]! + 4 }
								: was,
						];
					}
				},
			}),
		),
	),
	{
		name: "readers that count all the time never see half a day",
		promise: true,
		on: allBut("DuckDB"),
		run: async (warehouse) => {
			const days = await daysOf(warehouse, {
				[first]: [500, "a"],
				[second]: [300, "a"],
			});
			await loaded(warehouse, days);
			const seen: RowCounts[] = [];
			let isReading = true;
			const reading = (async () => {
				while (isReading) {
					seen.push(await warehouse.counts());
					await delay(1);
				}
			})();
			const replaced = await daysOf(warehouse, {
				[first]: [700, "b"],
				[second]: [400, "b"],
				[third]: [900, "b"],
			});
			await loaded(warehouse, replaced);
			const more = await withMore(warehouse, replaced, { [third]: [100, "c"] });
			await loaded(warehouse, more, { adds: true });
			isReading = false;
			await reading;
			expect(seen.length).toBeGreaterThan(1);
			for (const counts of seen) {
				expect([500, 700]).toContain(counts[first]);
				expect([300, 400]).toContain(counts[second]);
				expect([undefined, 900, 1_000]).toContain(counts[third]);
			}
		},
	},
];
