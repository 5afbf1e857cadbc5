import { expect } from "vitest";
import type { LoadInput } from "../../../packages/contracts/job.ts";
import type {
	Manifest,
	ManifestDate,
} from "../../../packages/contracts/manifest.ts";
import { utcDate } from "../../../packages/contracts/utc-date.ts";
import {
	again,
	daysOf,
	first,
	fullReload,
	later,
	loaded,
	reloadOf,
	second,
	third,
	withMore,
} from "../../support/fixtures/data-plane/conforming-days.ts";
import type { HandChange } from "../../support/fixtures/data-plane/conforming-warehouses.ts";
import {
	columns,
	eventsOf,
} from "../../support/fixtures/data-plane/load-fixture.ts";
import type { WarehouseCase } from "./warehouse-case.ts";

/* What every type of warehouse promises of a table's rows. What a table says of itself is in words-cases.ts, what isn't in it in left-out-cases.ts. */

export const conformanceCases: WarehouseCase[] = [
	{
		name: "a day is replaced as a whole, an empty one becomes empty, and others stay",
		promise: true,
		run: async (warehouse) => {
			await loaded(
				warehouse,
				await daysOf(warehouse, {
					[first]: [3, "a"],
					[second]: [2, "a"],
					[third]: [4, "a"],
				}),
			);
			expect(await warehouse.counts()).toEqual({
				[first]: 3,
				[second]: 2,
				[third]: 4,
			});
			const days = await daysOf(warehouse, {
				[second]: [5, "b"],
				[third]: [0, "b"],
			});
			const rest: Manifest = { ...days, asked: { extent: "Chosen" } };
			await loaded(warehouse, rest);
			expect(await warehouse.counts()).toEqual({ [first]: 3, [second]: 5 });
			await loaded(warehouse, again(rest));
			expect(await warehouse.counts()).toEqual({ [first]: 3, [second]: 5 });
		},
	},
	{
		name: "rows stay that no object in the bucket has any more, until a Run accepts that they go",
		promise: true,
		run: async (warehouse) => {
			const before = await daysOf(warehouse, {
				[first]: [3, "a"],
				[second]: [2, "a"],
			});
			await loaded(
				warehouse,
				await withMore(warehouse, before, { [second]: [4, "b"] }),
			);
			const lost = await withMore(warehouse, before, {
				[first]: [1, "c"],
				[second]: [1, "c"],
			});
			const wouldShrink = {
				outcome: "Failed",
				error: {
					code: "DayWouldShrink",
					message: expect.stringContaining(second),
				},
			};
			for (const adds of [{ adds: true as const }, {}]) {
				const input = { ...adds, acceptLoss: [] };
				const { result } = await warehouse.load(later(lost), { input });
				expect(result).toMatchObject(wouldShrink);
				expect(await warehouse.counts()).toEqual({
					[first]: 4,
					// What is new is added to it where the type says what it holds.
					[second]: warehouse.knowsRows ? 7 : 6,
				});
			}
			await loaded(warehouse, later(lost), { acceptLoss: [second] });
			expect(await warehouse.counts()).toEqual({ [first]: 4, [second]: 3 });
		},
	},
	{
		name: "rows stay that no object has any more, though more have come since and a clock that was ahead has loaded them",
		on: ["DuckDB", "Postgres", "ClickHouse"],
		run: async (warehouse) => {
			const today = utcDate(Date.now());
			const days = await daysOf(warehouse, { [today]: [3, "a"] });
			const ahead = new Date(Date.now() + 3_600_000).toISOString();
			await loaded(warehouse, { ...days, snapshotTime: ahead });
			const { dates } = await daysOf(warehouse, { [today]: [5, "b"] });
			for (const adds of [{ adds: true as const }, {}]) {
				const input = { ...adds, acceptLoss: [] };
				const lost = { ...again(days), dates };
				const { result } = await warehouse.load(lost, { input });
				expect(result).toMatchObject({ error: { code: "DayWouldShrink" } });
				expect(await warehouse.counts()).toEqual({ [today]: 8 });
			}
		},
	},
	{
		name: "rows stay that no object has any more, though more have come since, with a new column, another filter or another type",
		on: ["DuckDB", "Postgres", "ClickHouse"],
		run: async (warehouse) => {
			const index = (type: "Number" | "String") => ({
				name: "n",
				from: { bodyPointer: "/index", type },
			});
			const tag = {
				name: "tag",
				from: { bodyPointer: "/tag", type: "String" as const },
			};
			const filled = (...more: typeof columns): Partial<LoadInput> => ({
				table: {
					name: "orders",
					description: "",
					columns: [...columns, ...more],
				},
			});
			const match = { bodyPointer: "/tag", equals: "b" };
			for (const [input, others] of [
				[filled(index("Number"), tag), { [first]: 3 }],
				[{ ...filled(index("Number")), filter: { match } }, {}],
				[{ ...filled(index("String")), rebuild: true }, { [first]: 3 }],
			] as [Partial<LoadInput>, Record<string, number>][]) {
				const days = await daysOf(warehouse, {
					[first]: [3, "a"],
					[second]: [2, "a"],
				});
				await loaded(warehouse, days, filled(index("Number")));
				const lost = await withMore(
					warehouse,
					{
						...days,
						dates: days.dates.map((day) =>
							day.date === second ? { ...day, rows: 0, objects: [] } : day,
						),
					},
					{ [second]: [5, "b"] },
				);
				// The second Run finds a record that the first one has begun.
				for (const adds of [{}, { adds: true as const }]) {
					const { result } = await warehouse.load(later(lost), {
						input: { ...input, ...adds, acceptLoss: [] },
					});
					expect(result).toMatchObject({ error: { code: "DayWouldShrink" } });
					expect(await warehouse.counts()).toEqual({ ...others, [second]: 2 });
				}
				await loaded(warehouse, later(lost), input);
				expect(await warehouse.counts()).toEqual({ ...others, [second]: 5 });
				await warehouse.takeAway();
			}
		},
	},
	{
		name: "rows stay that no object has any more, though more have come since, where no record names objects",
		on: ["BigQuery", "Postgres", "ClickHouse"],
		run: async (warehouse) => {
			const refused = async (
				manifest: Manifest,
				input: Partial<LoadInput>,
				lost: number,
			) => {
				const { result } = await warehouse.load(later(manifest), {
					input: { ...input, acceptLoss: [] },
				});
				const message = expect.stringContaining(
					`which lack ${lost} of the table's`,
				);
				const error = { code: "DayWouldShrink", message };
				expect(result).toMatchObject({ error });
			};
			const all = { [first]: 3, [second]: 2 };
			await loaded(warehouse, await reloadOf(warehouse, all), fullReload);
			const lost = await reloadOf(warehouse, { ...all, [second]: 5 });
			await refused(lost, fullReload, 3);
			expect(await warehouse.counts()).toEqual(all);
			await loaded(warehouse, later(lost), fullReload);
			expect(await warehouse.counts()).toEqual({ ...all, [second]: 5 });
			if (warehouse.knowsRows) return;
			await warehouse.takeAway();
			const days = await daysOf(warehouse, {
				...{ [first]: [3, "a"], [second]: [2, "a"], [third]: [0, ""] },
			});
			await loaded(warehouse, days);
			const left = days.dates.map((day) =>
				day.date === second ? { ...day, rows: 0, objects: [] } : day,
			);
			const more = await withMore(
				warehouse,
				{ ...days, dates: left },
				{ [second]: [5, "b"], [third]: [1, "b"] },
			);
			const filter = { match: { bodyPointer: "/tag", equals: "b" } };
			const filtered = { [second]: 2, [third]: 1 };
			await refused(more, {}, 2);
			expect(await warehouse.counts()).toEqual({ ...filtered, [first]: 3 });
			await refused(more, { filter }, 2);
			expect(await warehouse.counts()).toEqual(filtered);
			await loaded(warehouse, later(more));
			expect(await warehouse.counts()).toMatchObject({ [second]: 5 });
		},
	},
	{
		name: "rows stay of objects that an administrator has given up, what is new is added, and the Run says so",
		run: async (warehouse) => {
			const before = await daysOf(warehouse, {
				[first]: [3, "a"],
				[second]: [2, "a"],
			});
			await loaded(warehouse, before);
			const more = await withMore(warehouse, before, { [second]: [1, "c"] });
			const dates = more.dates.map((day): ManifestDate => {
				if (day.date !== second) return day;
				const [gone, ...objects] = day.objects;
				const names = [gone!.key.slice(gone!.key.lastIndexOf("/") + 1)];
				return {
					...day,
					rows: 1,
					objects,
					lost: { rows: 2, objects: 1, names },
				};
			});
			for (const adds of [{ adds: true as const }, {}]) {
				const input = { ...adds, acceptLoss: [] };
				const lost = later({ ...more, dates });
				const { result } = await warehouse.load(lost, { input });
				expect(result).toMatchObject(
					warehouse.knowsRows
						? {
								...{ outcome: "Succeeded", rows: 6 },
								warning: expect.stringContaining(`2 of ${second}. Rows that`),
							}
						: { error: { code: "DayWouldShrink" } },
				);
				expect(await warehouse.counts()).toEqual({
					[first]: 3,
					[second]: warehouse.knowsRows ? 3 : 2,
				});
			}
		},
	},
	{
		name: "a reload without dates loses only those that left its range",
		shared: true,
		run: async (warehouse) => {
			const days = { [first]: 3, [second]: 2 };
			await loaded(warehouse, await reloadOf(warehouse, days), fullReload);
			const lost = await reloadOf(warehouse, { [second]: 2 });
			const input = { ...fullReload, acceptLoss: [] };
			const { result } = await warehouse.load(lost, { input });
			expect(result).toMatchObject({ error: { code: "DayWouldShrink" } });
			expect(await warehouse.counts()).toEqual(days);
			const narrowed: Manifest = {
				...later(lost),
				asked: { extent: "Whole", start: second },
			};
			await loaded(warehouse, narrowed, input);
			expect(await warehouse.counts()).toEqual({ [second]: 2 });
		},
	},
	{
		name: "a Run adds what is new, and a repeat changes nothing",
		promise: true,
		run: async (warehouse) => {
			const { knowsRows, store } = warehouse;
			/** What it read of the bucket, too. */
			const added = async (manifest: Manifest) => {
				store.requests.length = 0;
				const result = await loaded(warehouse, manifest, { adds: true });
				const read = store.requests.filter((key) => key.startsWith("events/"));
				return { ...result, read };
			};
			const before = await daysOf(warehouse, {
				[first]: [3, "a"],
				[second]: [2, "a"],
			});
			await loaded(warehouse, before);
			const more = await withMore(warehouse, before, { [second]: [4, "b"] });
			const result = await added(more);
			const [, { objects }] = more.dates as [unknown, ManifestDate];
			if (knowsRows)
				expect(result).toMatchObject({
					...{ addedRows: 4, unchangedDates: 1 },
					read: [objects[1]!.key],
				});
			const counts = { [first]: 3, [second]: 6 };
			expect(await warehouse.counts()).toEqual(counts);
			const untouched = { addedRows: 0, unchangedDates: 2, read: [] };
			const repeated = await added(later(more));
			if (knowsRows) expect(repeated).toMatchObject(untouched);
			expect(await warehouse.counts()).toEqual(counts);
			// A Run by hand replaces its days, and the next scheduled one goes on from there.
			await warehouse.change("update", first);
			const byHand = await loaded(warehouse, later(more));
			expect(byHand).toMatchObject({ rows: 9, objects: 3 });
			expect(byHand).not.toHaveProperty("addedRows");
			const mine = "SELECT event_id FROM orders WHERE body = 'mine'";
			expect(await warehouse.rows(mine)).toEqual([]);
			const next = await added(later(more));
			if (knowsRows) expect(next).toMatchObject(untouched);
			expect(await warehouse.counts()).toEqual(counts);
		},
	},
	...(["delete", "insert", "update"] as HandChange[]).map(
		(how): WarehouseCase => ({
			name: `rows that somebody ${how}s by hand are found and replaced`,
			...(how === "delete" && { promise: true }),
			run: async (warehouse, type) => {
				const days = await daysOf(warehouse, {
					[first]: [3, "a"],
					[second]: [2, "a"],
					[third]: [0, "a"],
				});
				await loaded(warehouse, days);
				await warehouse.change(how, first);
				const repairedDates: string[] = [first];
				// Also where a day has no events; in Postgres it has no partition, either.
				if (how === "insert" && !type.includes("Postgres")) {
					await warehouse.change(how, third);
					repairedDates.push(third);
				}
				const result = await loaded(warehouse, again(days), { adds: true });
				if (warehouse.knowsRows)
					expect(result).toMatchObject({ repairedDates });
				expect(await warehouse.counts()).toEqual({ [first]: 3, [second]: 2 });
				// Then it is added to again.
				const more = await withMore(warehouse, days, { [first]: [1, "b"] });
				const next = await loaded(warehouse, more, { adds: true });
				expect(next).not.toHaveProperty("repairedDates");
				if (warehouse.knowsRows) expect(next).toMatchObject({ addedRows: 1 });
				expect(await warehouse.counts()).toEqual({ [first]: 4, [second]: 2 });
			},
		}),
	),
	{
		name: "a body is in the table byte for byte, whatever its formatting",
		promise: true,
		run: async (warehouse) => {
			const bodies = [
				'{ "b" : 1.0,\n "a":1e2 }',
				'{"a":1,"a":2}',
				'{"form":"a=1&b=%20+"}',
				'"a=1&a=2&b=ü"',
				'"\\u00fc \\"\\\\ 😀"',
				'  "just text"  ',
				"null",
				"12345678901234567890.10",
			];
			const events = bodies.map((body, index) => ({
				event_id: `${index}`,
				timestampMs: Date.parse(first) + index,
				body,
			}));
			await loaded(warehouse, await warehouse.manifest({ [first]: [events] }));
			const rows = "SELECT body FROM orders ORDER BY event_id";
			expect((await warehouse.rows(rows)).flat()).toEqual(bodies);
		},
	},
	{
		name: "an event in quarantine is in a table of its own, which is added to, and in the table once it is released",
		promise: true,
		run: async (warehouse) => {
			const input: Partial<LoadInput> = {
				adds: true,
				quarantineTable: { name: "orders_apart", description: "", columns },
			};
			const own = (await daysOf(warehouse, { [first]: [2, "a"] })).dates[0]!;
			const objectOf = async (tag: string) => {
				const { dates } = await daysOf(warehouse, { [first]: [3, tag] });
				return dates[0]!.objects[0]!;
			};
			const held = [await objectOf("x"), await objectOf("y")];
			const manifest = await daysOf(warehouse, { [first]: [0, ""] });
			/** The tags in both tables. */
			const after = async (...released: ManifestDate["objects"]) => {
				const objects = [...own.objects, ...released];
				const rows = own.rows + 3 * released.length;
				const quarantine = { rows: 3 * held.length, objects: held };
				const dates = [{ date: first, rows, objects, quarantine }];
				const result = await loaded(
					warehouse,
					{ ...later(manifest), dates },
					input,
				);
				const tags = async (table: string) => {
					const found = await warehouse.rows(
						`SELECT event_id FROM ${table} ORDER BY event_id`,
					);
					return found.map(([id]) => String(id).split("-").at(-2)).join("");
				};
				return [result, await tags("orders"), await tags("orders_apart")];
			};
			expect(await after()).toMatchObject([{}, "aa", "xxxyyy"]);
			expect(await after()).toMatchObject([
				{ quarantinedRows: 6 },
				...["aa", "xxxyyy"],
			]);
			held.push(await objectOf("z"));
			expect((await after()).slice(1)).toEqual(["aa", "xxxyyyzzz"]);
			// Of an object that is released a copy is among the day's own.
			const copy = { ...held[0]!, key: "releases/000001-x.parquet" };
			const released = { ...copy, released: true as const };
			for (let times = 0; times < 2; times++)
				expect((await after(released)).slice(1)).toEqual(["aaxxx", "yyyzzz"]);
			await warehouse.change("delete", first, "orders_apart");
			expect((await after(released)).slice(1)).toEqual(["aaxxx", "yyyzzz"]);
		},
	},
	{
		name: "a full reload replaces the whole table",
		promise: true,
		run: async (warehouse) => {
			await loaded(
				warehouse,
				await reloadOf(warehouse, { [first]: 3, [second]: 2 }),
				fullReload,
			);
			expect(await warehouse.counts()).toEqual({ [first]: 3, [second]: 2 });
			const result = await loaded(
				warehouse,
				await reloadOf(warehouse, { [second]: 7 }),
				fullReload,
			);
			expect(await warehouse.counts()).toEqual({ [second]: 7 });
			expect(result).not.toHaveProperty("otherRows");
		},
	},
	{
		name: "a table with another Source's rows is refused as it is, and rebuilt or adopted if the Pipeline says so",
		run: async (warehouse) => {
			const others = { sourceKey: "e".repeat(32) };
			const daysFrom = async (
				tag: string,
				changes: Partial<Manifest> = {},
			) => ({
				...(await daysOf(warehouse, { [second]: [2, tag], [third]: [1, tag] })),
				...changes,
			});
			await loaded(warehouse, await daysOf(warehouse, { [first]: [3, "a"] }));
			await loaded(warehouse, await daysFrom("a"));
			const before = await warehouse.counts();
			expect(before).toEqual({ [first]: 3, [second]: 2, [third]: 1 });
			for (const [changes, input] of [
				[others, {}],
				[others, { adds: true }],
				[{ ...others, asked: { extent: "Chosen" } }, {}],
			] as [Partial<Manifest>, Partial<LoadInput>][]) {
				const days = await daysFrom("b", changes);
				const { exitCode, result, log } = await warehouse.load(days, { input });
				expect(exitCode, log).toBe(65);
				expect(result).toMatchObject({
					error: {
						code: "TableIncompatible",
						message: expect.stringContaining("events of another Source"),
					},
				});
				expect(await warehouse.counts()).toEqual(before);
			}
			await loaded(warehouse, await daysFrom("b", others), { rebuild: true });
			expect(await warehouse.counts()).toEqual({ [second]: 2, [third]: 1 });
			const back = await warehouse.load(await daysFrom("c"), {});
			expect(back.result).toMatchObject({
				error: { code: "TableIncompatible" },
			});
			await loaded(warehouse, await daysFrom("c"), { adopt: true });
			expect(await warehouse.counts()).toEqual({ [second]: 2, [third]: 1 });
		},
	},
	{
		name: "a whole window says how many rows of other dates the table keeps",
		run: async (warehouse) => {
			const wide = await daysOf(warehouse, {
				[first]: [3, "a"],
				[second]: [2, "a"],
			});
			expect(await loaded(warehouse, wide)).not.toHaveProperty("otherRows");
			for (const input of [
				{},
				{ adds: true as const },
				{ full: true as const },
			]) {
				const narrowed = await daysOf(warehouse, { [second]: [4, "b"] });
				expect(await loaded(warehouse, narrowed, input)).toMatchObject({
					otherRows: 3,
				});
				expect(await warehouse.counts()).toEqual({ [first]: 3, [second]: 4 });
			}
			const part: Manifest = {
				...(await daysOf(warehouse, { [second]: [4, "c"] })),
				asked: { extent: "Rest", start: second },
			};
			expect(await loaded(warehouse, part)).not.toHaveProperty("otherRows");
		},
	},
	{
		name: "the event's id, time and body can come later: loaded days get them, and no row is twice",
		run: async (warehouse) => {
			const named = (...names: string[]): Partial<LoadInput> => ({
				table: {
					name: "orders",
					description: "",
					columns: columns.filter(({ name }) => names.includes(name)),
				},
			});
			const days = await daysOf(warehouse, {
				[first]: [3, "a"],
				[second]: [2, "a"],
			});
			const all = columns.map(({ name }) => name);
			for (const names of [
				["date", "body"],
				["date", "body", "event_id"],
				all,
			]) {
				await loaded(warehouse, again(days), {
					...named(...names),
					adds: true,
				});
				expect(await warehouse.counts()).toEqual({ [first]: 3, [second]: 2 });
			}
			const repeated = await loaded(warehouse, again(days), {
				...named(...all),
				adds: true,
			});
			if (warehouse.knowsRows)
				expect(repeated).toMatchObject({ addedRows: 0, unchangedDates: 2 });
			// It finds the row by its id.
			await warehouse.change("delete", first);
			expect(await warehouse.counts()).toEqual({ [first]: 2, [second]: 2 });
		},
	},
	{
		name: "a table has exactly the events of the Pipeline's filter, and another filter is another content",
		promise: true,
		run: async (warehouse) => {
			const of = (equals: string): Partial<LoadInput> => ({
				filter: { match: { bodyPointer: "/tag", equals } },
				adds: true,
			});
			const ofBoth = await daysOf(warehouse, {
				[first]: [3, "a"],
				[second]: [0, "a"],
			});
			const before = await withMore(warehouse, ofBoth, {
				[first]: [2, "b"],
				[second]: [4, "b"],
			});
			expect(await loaded(warehouse, before, of("a"))).toMatchObject({
				rows: 3,
			});
			expect(await warehouse.counts()).toEqual({ [first]: 3 });
			// Of the second date comes nothing that the filter takes.
			const more = await withMore(
				warehouse,
				await withMore(warehouse, before, { [first]: [2, "c"] }),
				{ [first]: [1, "a2"], [second]: [2, "c"] },
			);
			const unchanged = await loaded(warehouse, more, of("a"));
			expect(unchanged).toMatchObject({ rows: 3 });
			if (warehouse.knowsRows)
				expect(unchanged).toMatchObject({ addedRows: 0, unchangedDates: 2 });
			const late = eventsOf(first, 2, "late").map((event) => ({
				...event,
				body: JSON.stringify({ tag: "a" }),
			}));
			const [day] = (await warehouse.manifest({ [first]: [late] })).dates;
			const { dates, ...rest } = again(more);
			const latest: Manifest = {
				...rest,
				dates: dates.map((each) =>
					each.date === first
						? {
								...each,
								rows: each.rows + day!.rows,
								objects: [...each.objects, ...day!.objects],
							}
						: each,
				),
			};
			const added = await loaded(warehouse, latest, of("a"));
			expect(added).toMatchObject({ rows: 5 });
			if (warehouse.knowsRows)
				expect(added).toMatchObject({ addedRows: 2, unchangedDates: 1 });
			expect(await warehouse.counts()).toEqual({ [first]: 5 });
			await warehouse.change("delete", first);
			const mended = await loaded(warehouse, again(latest), of("a"));
			if (warehouse.knowsRows)
				expect(mended).toMatchObject({ repairedDates: [first] });
			expect(await warehouse.counts()).toEqual({ [first]: 5 });
			expect(await loaded(warehouse, again(latest), of("b"))).toMatchObject({
				rows: 6,
			});
			expect(await warehouse.counts()).toEqual({ [first]: 2, [second]: 4 });
			const none = await loaded(warehouse, again(latest), of("d"));
			expect(none).toMatchObject({ rows: 0 });
			expect(await warehouse.counts()).toEqual({});
			await loaded(warehouse, again(latest), { adds: true });
			expect(await warehouse.counts()).toEqual({ [first]: 10, [second]: 6 });
			const byFilter = { ...fullReload, ...of("b") };
			const reload = await reloadOf(warehouse, { [first]: 3 });
			const other: Partial<LoadInput> = {
				...byFilter,
				table: { ...fullReload.table!, name: "others" },
				filter: { match: { bodyPointer: "/day", equals: first } },
			};
			expect(await loaded(warehouse, reload, other)).toMatchObject({ rows: 3 });
			const nothing: Partial<LoadInput> = {
				...other,
				filter: { match: { bodyPointer: "/day", equals: second } },
			};
			expect(await loaded(warehouse, again(reload), nothing)).toMatchObject({
				rows: 0,
			});
		},
	},
];
