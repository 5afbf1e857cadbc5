import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import type { LoadInput, TableColumn } from "../../packages/contracts/job.ts";
import type {
	Manifest,
	ManifestErasure,
} from "../../packages/contracts/manifest.ts";
import {
	type ConformingWarehouse,
	everyWarehouse,
	type HandChange,
	type RowCounts,
} from "../support/fixtures/data-plane/conforming-warehouses.ts";
import {
	columns,
	eventsOf,
} from "../support/fixtures/data-plane/load-fixture.ts";

/* What every type of warehouse promises, tried on each. A new type has a line here, and its own way in conforming-warehouses.ts. */

const types = await everyWarehouse();
afterEach(() => void vi.unstubAllEnvs());

const [first, second, third] = [
	"2026-03-01",
	"2026-03-02",
	"2026-03-03",
] as const;

/** Each manifest is a second later than the one before. */
let seconds = 0;

async function daysOf(
	warehouse: ConformingWarehouse,
	days: Record<string, [rows: number, tag: string]>,
): Promise<Manifest> {
	const found = await warehouse.manifest(
		Object.fromEntries(
			Object.entries(days).map(([date, [rows, tag]]) => [
				date,
				rows > 0 ? [eventsOf(date, rows, tag)] : [],
			]),
		),
	);
	return {
		...found,
		snapshotTime: new Date(Date.UTC(2026, 2, 4, 0, 0, seconds++)).toISOString(),
	};
}

/** The same days with further objects, as a later snapshot has them. */
async function withMore(
	warehouse: ConformingWarehouse,
	before: Manifest,
	more: Record<string, [rows: number, tag: string]>,
): Promise<Manifest> {
	const added = await daysOf(warehouse, more);
	const ofDate = new Map(added.dates.map((day) => [day.date, day]));
	return {
		...added,
		dates: before.dates.map((day) => {
			const { rows = 0, objects = [] } = ofDate.get(day.date) ?? {};
			return {
				...day,
				rows: day.rows + rows,
				objects: [...day.objects, ...objects],
			};
		}),
	};
}

const again = (manifest: Manifest): Manifest => ({
	...manifest,
	run: crypto.randomUUID(),
});

async function loaded(
	warehouse: ConformingWarehouse,
	manifest: Manifest,
	input: Partial<LoadInput> = {},
) {
	const end = await warehouse.load(manifest, { input });
	expect(end.exitCode, end.log).toBe(0);
	return end.result;
}

const fullReload: Partial<LoadInput> = {
	strategy: "FullReload",
	table: {
		name: "orders",
		// Without the role of the date, whose name the tests still count by.
		columns: [
			...columns.filter(({ from }) => from !== "Date"),
			{ name: "date", from: { bodyPointer: "/day", type: "Date" } },
		],
		description: "",
	},
};

async function reloadOf(
	warehouse: ConformingWarehouse,
	days: Record<string, number>,
): Promise<Manifest> {
	const found = await warehouse.manifest(
		Object.fromEntries(
			Object.entries(days).map(([date, rows]) => [
				date,
				[
					eventsOf(date, rows, String(seconds)).map((event) => ({
						...event,
						body: JSON.stringify({ day: date }),
					})),
				],
			]),
		),
	);
	return {
		...found,
		snapshotTime: new Date(Date.UTC(2026, 2, 4, 0, 0, seconds++)).toISOString(),
	};
}

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
/** A later Run's. */
const at = (found: Manifest): Manifest => ({
	...found,
	run: crypto.randomUUID(),
	snapshotTime: new Date(Date.UTC(2026, 2, 4, 0, 0, seconds++)).toISOString(),
});
const amountOf = (date: string, id: string, amount: unknown) => ({
	event_id: id,
	timestampMs: Date.parse(date),
	body: JSON.stringify({ email: `${id}@shop`, amount }),
});

test.each(types)(
	"%s: each value that a column can't hold is a row of a table beside it, which follows the table's days",
	async (_, open) => {
		const warehouse = await open();
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
		const before = at(await warehouse.manifest(days));
		await loaded(warehouse, before, rejecting());
		const integer = "Not a whole number of 64 bits.";
		expect(await rejected()).toEqual([
			["a2", first, "amount", '"much"', integer],
			["a4", first, "amount", '{"n":[1,"x"]}', integer],
		]);
		// Later objects add theirs, and a repeat adds none.
		const found = await warehouse.manifest({
			[second]: [[amountOf(second, "b2", long), amountOf(second, "b3", 3)]],
		});
		const more = at({
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
		for (const manifest of [more, at(more)]) {
			await loaded(warehouse, manifest, rejecting());
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
			expect(await loaded(warehouse, at(more), rejecting())).toMatchObject({
				repairedDates: [date],
			});
			expect(await rejected("column_name")).toHaveLength(3);
		}
		// A column of another type rejects other values.
		const rebuilt = { ...rejecting("String"), rebuild: true };
		await loaded(warehouse, at(more), rebuilt);
		expect(await rejected("value, reason")).toEqual([
			["a4", first, '{"n":[1,"x"]}', "Not a text, a number, true or false."],
		]);
		// A day without events is empty in both.
		const emptied = at({
			...more,
			asked: { extent: "Chosen" },
			dates: [{ date: first, rows: 0, objects: [] }],
		});
		await loaded(warehouse, emptied, rejecting("String"));
		expect(await rejected()).toEqual([]);
	},
);

test.each(types)(
	"%s: a full reload replaces the table of rejected values as a whole",
	async (_, open) => {
		const warehouse = await open();
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
			await loaded(warehouse, at(found), reloading);
			expect(
				await warehouse.rows(
					"SELECT event_id, CAST(date AS VARCHAR(10)), value FROM orders_rejected",
				),
			).toEqual([[id, day, '"x"']]);
		}
	},
);

test.each(types)(
	"%s: a Run that is killed between its statements leaves rejected values as they were or as they will be, and the next attempt does the rest",
	async (_, open) => {
		const warehouse = await open();
		const withRows = async (of: number) =>
			at(
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
				await warehouse.rows(`SELECT event_id FROM ${table} ORDER BY event_id`)
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
);

test.each(types)(
	"%s: what was erased is gone from the table of rejected values, too",
	async (_, open) => {
		const warehouse = await open();
		const whole = await warehouse.manifest({
			[first]: [[amountOf(first, "hers", "x"), amountOf(first, "his", "y")]],
			[second]: [[amountOf(second, "other", "z")]],
			[third]: [],
		});
		await loaded(warehouse, at(whole), rejecting());
		const ids = async (table: string) =>
			(
				await warehouse.rows(`SELECT event_id FROM ${table} ORDER BY event_id`)
			).flat();
		expect(await ids("orders_rejected")).toEqual(["hers", "his", "other"]);
		const erase = (erasure: Omit<ManifestErasure, "before">) =>
			loaded(
				warehouse,
				{
					...at(whole),
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
		await loaded(warehouse, at(days), from("/amount", "Integer"));
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
			await loaded(warehouse, at(days), from("/other", "Integer", email));
			expect(await warehouse.descriptions()).toEqual(changed);
		}
		const rebuilt = { ...from("/other", "String", email), rebuild: true };
		await loaded(warehouse, at(days), rebuilt);
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
			const manifest = at(days);
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

const erasedEvent = (date: string, tag: string, email: string) => ({
	event_id: `${date}-${tag}`,
	timestampMs: Date.parse(date),
	body: JSON.stringify({ "a/b": { email }, n: [email, 5] }),
});

test.each(types)(
	"%s: what was erased is gone from rows of dates that no Run loads, or blank, and no other row changes",
	async (_, open) => {
		const warehouse = await open();
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
				...again(whole),
				snapshotTime: new Date(
					Date.UTC(2026, 2, 4, 0, 0, seconds++),
				).toISOString(),
				asked: { extent: "Chosen" },
				dates: whole.dates.slice(2),
				erasures: { asked: 1, others },
			});
		await loaded(warehouse, {
			...whole,
			snapshotTime: new Date(
				Date.UTC(2026, 2, 4, 0, 0, seconds++),
			).toISOString(),
		});
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
);
