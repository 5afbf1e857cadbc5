import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import type { LoadInput, TableColumn } from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
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
	withMore,
} from "../support/fixtures/data-plane/conforming-days.ts";
import {
	everyWarehouse,
	type HandChange,
	type RowCounts,
} from "../support/fixtures/data-plane/conforming-warehouses.ts";
import {
	columns,
	eventsOf,
} from "../support/fixtures/data-plane/load-fixture.ts";

/*
 * What every type of warehouse promises of a table's rows, tried on each. A new type has a line here, and its own way in
 * conforming-warehouses.ts. What isn't in a table is in warehouse-left-out.all.test.ts.
 */

const types = await everyWarehouse({ withDebians: true });
afterEach(() => void vi.unstubAllEnvs());

test.each(types)(
	"%s: a day is replaced as a whole, an empty one becomes empty, and others stay",
	async (_, open) => {
		const warehouse = await open();
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
);

test.each(types)(
	"%s: a Run adds what is new, and a repeat changes nothing",
	async (_, open) => {
		const warehouse = await open();
		const before = await daysOf(warehouse, {
			[first]: [3, "a"],
			[second]: [2, "a"],
		});
		await loaded(warehouse, before);
		const more = await withMore(warehouse, before, { [second]: [4, "b"] });
		const result = await loaded(warehouse, more, { adds: true });
		if (warehouse.knowsRows)
			expect(result).toMatchObject({ addedRows: 4, unchangedDates: 1 });
		expect(await warehouse.counts()).toEqual({ [first]: 3, [second]: 6 });
		const repeated = await loaded(warehouse, again(more), { adds: true });
		if (warehouse.knowsRows)
			expect(repeated).toMatchObject({ addedRows: 0, unchangedDates: 2 });
		expect(await warehouse.counts()).toEqual({ [first]: 3, [second]: 6 });
	},
);

test.each(
	types.flatMap(([type, open]) =>
		(["delete", "insert", "update"] as HandChange[]).map(
			(how) => [type, how, open] as const,
		),
	),
)(
	"%s: rows that somebody %ss by hand are found and replaced",
	async (_, how, open) => {
		const warehouse = await open();
		const days = await daysOf(warehouse, {
			[first]: [3, "a"],
			[second]: [2, "a"],
		});
		await loaded(warehouse, days);
		await warehouse.change(how, first);
		const result = await loaded(warehouse, again(days), { adds: true });
		if (warehouse.knowsRows)
			expect(result).toMatchObject({ repairedDates: [first] });
		expect(await warehouse.counts()).toEqual({ [first]: 3, [second]: 2 });
		const repeated = await loaded(warehouse, again(days), { adds: true });
		expect(repeated).not.toHaveProperty("repairedDates");
	},
);

test.each(types)(
	"%s: a full reload replaces the whole table",
	async (_, open) => {
		const warehouse = await open();
		await loaded(
			warehouse,
			await reloadOf(warehouse, { [first]: 3, [second]: 2 }),
			fullReload,
		);
		expect(await warehouse.counts()).toEqual({ [first]: 3, [second]: 2 });
		await loaded(
			warehouse,
			await reloadOf(warehouse, { [second]: 7 }),
			fullReload,
		);
		expect(await warehouse.counts()).toEqual({ [second]: 7 });
	},
);

test.each(types)(
	"%s: a table with another Source's rows is refused as it is, and rebuilt or adopted if the Pipeline says so",
	async (_, open) => {
		const warehouse = await open();
		const others = { sourceKey: "e".repeat(32) };
		const daysFrom = async (tag: string, changes: Partial<Manifest> = {}) => ({
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
		expect(back.result).toMatchObject({ error: { code: "TableIncompatible" } });
		await loaded(warehouse, await daysFrom("c"), { adopt: true });
		expect(await warehouse.counts()).toEqual({ [second]: 2, [third]: 1 });
	},
);

test.each(types)(
	"%s: a table of another Pipeline of the same Source is refused as it is, since the table says whose it is",
	async (_, open) => {
		const warehouse = await open();
		const of = (pipeline: string, { run: uid }: Manifest) => ({
			run: { name: "r", uid, account: "shop", pipeline },
		});
		const days = await daysOf(warehouse, { [first]: [3, "a"] });
		await loaded(warehouse, days, of("p", days));
		const others = await daysOf(warehouse, { [first]: [2, "b"] });
		const end = await warehouse.load(others, { input: of("q", others) });
		expect(end.result, end.log).toMatchObject({
			error: { code: "TableNotOurs" },
		});
		expect(await warehouse.counts()).toEqual({ [first]: 3 });
	},
);

test.each(types)(
	"%s: a whole window says how many rows of other dates the table keeps",
	async (_, open) => {
		const warehouse = await open();
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
	},
);

test.each(types)(
	"%s: the event's id, time and body can come later: loaded days get them, and no row is twice",
	async (_, open) => {
		const warehouse = await open();
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
		for (const names of [["date", "body"], ["date", "body", "event_id"], all]) {
			await loaded(warehouse, again(days), { ...named(...names), adds: true });
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
);

test.each(types)(
	"%s: a row says which Run wrote it and when, whatever later Runs add beside it",
	async (_, open) => {
		const warehouse = await open();
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
		expect(await written()).toEqual([["four", 5, 1, 5]]);
	},
);

test.each(types)(
	"%s: a table has exactly the events of the Pipeline's filter, and another filter is another content",
	async (_, open) => {
		const warehouse = await open();
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
		expect(await loaded(warehouse, before, of("a"))).toMatchObject({ rows: 3 });
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
);

test.each(types)(
	"%s: each column says what it holds, also when that changes, and people's words stay",
	async (_, open) => {
		const warehouse = await open();
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
			[first]: [[amountOf(first, "a", 1)]],
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
		for (let times = 0; times < 2; times++) {
			await loaded(warehouse, later(days), from("/other", "Integer", email));
			expect(await warehouse.descriptions()).toEqual(changed);
		}
		const rebuilt = { ...from("/other", "String", email), rebuild: true };
		await loaded(warehouse, later(days), rebuilt);
		expect(await warehouse.descriptions()).toEqual({
			...changed,
			amount: changed.amount.replace("Integer", "String"),
		});
	},
);

test.each(types)(
	"%s: the table says which Source it is of and which Run loaded it last",
	async (_, open) => {
		const warehouse = await open();
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
			if (warehouse.knowsRows) expect(comment).toContain(`"runName":"${name}"`);
		}
	},
);

const kinds = ["replacement", "addition", "full reload"] as const;

test.each(
	types.flatMap(([type, open]) =>
		kinds.map((kind) => [type, kind, open] as const),
	),
)(
	"%s: the %s that is killed after any of its statements leaves each day as it was or as it will be, and the next attempt does the rest",
	async (_, kind, open) => {
		const warehouse = await open();
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
		let [was, will]: RowCounts[] = [
			{ [first]: 3, [second]: 2 },
			{ [first]: 4, [second]: 6 },
		];
		let before = await daysWith(was!, "a");
		await loaded(warehouse, before, isReload ? fullReload : {});
		for (let after = 1, isStruck = true; isStruck; after++) {
			const next = isAddition
				? await withMore(warehouse, before, {
						[first]: [1, "b"],
						[second]: [4, "b"],
					})
				: await daysWith(will!, String(after));
			const { isDone, signal } = warehouse.strike(after);
			await warehouse.load(next, { input, ...(signal && { signal }) });
			isStruck = isDone();
			const left = await warehouse.counts();
			for (const date of [first, second])
				expect([was![date], will![date]], `${date} after ${after}`).toContain(
					left[date],
				);
			if (isReload)
				expect([was, will], "both days at once").toContainEqual(left);
			await loaded(warehouse, next, input);
			expect(await warehouse.counts()).toEqual(will);
			// The next is struck on the way back; what was added isn't taken away again.
			if (!isAddition) [was, will] = [will, was];
			else if (isStruck) {
				before = await daysWith(was!, "a");
				await loaded(warehouse, before);
			}
		}
	},
);

test.each(types)(
	"%s: readers that count all the time never see half a day",
	async (_, open) => {
		const warehouse = await open();
		if (!warehouse.hasReaders) return;
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
);
