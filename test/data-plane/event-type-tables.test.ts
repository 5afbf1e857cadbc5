import { DuckDBInstance } from "@duckdb/node-api";
import { expect, onTestFinished, test, vi } from "vitest";
import type {
	EventTypeTables,
	LoadInput,
	TableColumn,
} from "../../packages/contracts/job.ts";
import type {
	Manifest,
	ManifestErasure,
	ManifestObject,
} from "../../packages/contracts/manifest.ts";
import type { ObjectEvent } from "../support/examples/parquet-object.ts";
import {
	type ConformingWarehouse,
	everyWarehouse,
} from "../support/fixtures/data-plane/conforming-warehouses.ts";
import {
	columns,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";

/* What holds of a table holds of each, where a Pipeline has one for each type of event. Tried on every type of warehouse. */

const types = await everyWarehouse();

const [first, second] = ["2026-03-01", "2026-03-02"] as const;

function tablesFor(...names: string[]): EventTypeTables {
	return {
		place: { bodyPointer: "/type" },
		tables: names.map((name) => ({ type: name, table: `orders_${name}` })),
		other: "orders_other",
		free: 0,
	};
}

const byType: Partial<LoadInput> = { eventTypes: tablesFor("paid", "sent") };
const adding: Partial<LoadInput> = { ...byType, adds: true };

/** By tables without their prefix, how many events of which tag. */
type OfType = Partial<Record<"paid" | "sent" | "odd", number>>;

function eventsOfTypes(date: string, tag: string, of: OfType): ObjectEvent[] {
	return Object.entries(of).flatMap(([type, count]) =>
		Array.from({ length: count! }, (_, index) => ({
			event_id: `${date}-${tag}-${type}-${index}`,
			timestampMs: Date.parse(date) + index * 1_000,
			body: JSON.stringify({ type, tag, email: `${tag}@shop` }),
		})),
	);
}

/** Each manifest is a second later than the one before. */
let seconds = 0;
const later = (manifest: Manifest): Manifest => ({
	...manifest,
	run: crypto.randomUUID(),
	snapshotTime: new Date(Date.UTC(2026, 2, 4, 0, 0, seconds++)).toISOString(),
});

/** One object for each tag. */
async function daysOf(
	warehouse: ConformingWarehouse,
	days: Record<string, Record<string, OfType>>,
): Promise<Manifest> {
	const found = await warehouse.manifest(
		Object.fromEntries(
			Object.entries(days).map(([date, tags]) => [
				date,
				Object.entries(tags).map(([tag, of]) => eventsOfTypes(date, tag, of)),
			]),
		),
	);
	return later(found);
}

/** The same days with further objects, as a later snapshot has them. */
function withMore(before: Manifest, more: Manifest): Manifest {
	return later({
		...before,
		dates: before.dates.map((day) => {
			const added = more.dates.find(({ date }) => date === day.date);
			return {
				...day,
				rows: day.rows + (added?.rows ?? 0),
				objects: [...day.objects, ...(added?.objects ?? [])],
			};
		}),
	});
}

async function loaded(
	warehouse: ConformingWarehouse,
	manifest: Manifest,
	input: Partial<LoadInput> = byType,
) {
	const end = await warehouse.load(manifest, { input });
	expect(end.exitCode, end.log).toBe(0);
	return end.result;
}

async function countsIn(warehouse: ConformingWarehouse, table: string) {
	const rows = await warehouse.rows(
		`SELECT CAST(date AS VARCHAR(10)) AS day, count(*) FROM orders_${table} GROUP BY date ORDER BY 1`,
	);
	return Object.fromEntries(rows.map(([day, rows]) => [day, Number(rows)]));
}

async function allCounts(warehouse: ConformingWarehouse) {
	return {
		paid: await countsIn(warehouse, "paid"),
		sent: await countsIn(warehouse, "sent"),
		other: await countsIn(warehouse, "other"),
	};
}

test.each(types)(
	"%s: one Run loads each type into its table and the others into one, a repeat changes nothing, and a day that lost a type's events is empty there",
	async (_, open) => {
		const warehouse = await open();
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
		).toEqual(eventsOfTypes(first, "a", { sent: 2 }).map(({ body }) => [body]));
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
);

test.each(types)(
	"%s: types that may get a table are named before anything changes, those with most events first",
	async (_, open) => {
		const warehouse = await open();
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
);

test.each(types)(
	"%s: what is new is added to each table, what was changed by hand in one is found, and a table that is gone is loaded again",
	async (_, open) => {
		const warehouse = await open();
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
);

test.each(types)(
	"%s: an event is in one table whatever types have had one, also if a table and its record are still there",
	async (_, open) => {
		const warehouse = await open();
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
);

const reloading: Partial<LoadInput> = {
	...byType,
	strategy: "FullReload",
	table: {
		name: "orders",
		columns: columns.filter(({ from }) => from !== "Date"),
		description: "",
	},
};

test.each(types)(
	"%s: a full reload replaces each of the tables",
	async (_, open) => {
		const warehouse = await open();
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
);

test.each(types)(
	"%s: a full reload replaces the tables of rejected values and of quarantine with those for types, each with who loaded its rows",
	async (_, open) => {
		const warehouse = await open();
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
);

test.each(
	types.flatMap(([type, open]) =>
		(["replacement", "addition"] as const).map(
			(kind) => [type, kind, open] as const,
		),
	),
)(
	"%s: the %s that is killed after any of its statements leaves each table's day as it was or as it will be, and the next attempt does the rest",
	async (_, kind, open) => {
		const warehouse = await open();
		const input = kind === "addition" ? adding : byType;
		for (let after = 1, isStruck = true; isStruck; after += 1 + (after >> 1)) {
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
			expect([1, will.other], `after ${after}`).toContain(left.other[first]);
			await loaded(warehouse, next, input);
			expect(await allCounts(warehouse)).toEqual({
				paid: { [first]: will.paid },
				sent: { [first]: will.sent },
				other: { [first]: will.other },
			});
		}
	},
);

test.each(types)(
	"%s: a filter, the columns that say who loaded a row, the tables of rejected values and of quarantine, and what was erased, hold beside the tables for types",
	async (_, open) => {
		const warehouse = await open();
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
);

test.each(types)(
	"%s: an event that is released or imported is in its type's table, once",
	async (_, open) => {
		const warehouse = await open();
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
);

test("a type counts as it was sent, also if the tracking plan leaves it out of the table, and is a text or a number or a boolean", async () => {
	const [, open] = types[0]!;
	const warehouse = await open();
	const omit = JSON.stringify({ plan: "p", version: "1", omit: ["/type"] });
	const bodies = [
		['{"type":"paid","n":1}', omit],
		['{"n":2,"type":"pa\\u0069d"}', ""],
		['{"type":5}', ""],
		['{"type":"5"}', omit],
		...['{"type":["paid"]}', '{"type":""}', '"paid"', "null"].map((body) => [
			body,
			"",
		]),
		...["x".repeat(201), "a\nb"].map((type) => [JSON.stringify({ type }), ""]),
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
});

test("a DuckDB file is opened as often for many types as for one, and each table is compressed as its own bodies are best", async () => {
	const { load, manifest, rows, file } = await loadFixture();
	const opened = vi.spyOn(DuckDBInstance, "create");
	onTestFinished(() => opened.mockRestore());
	const events = Array.from({ length: 6_000 }, (_, index) => ({
		event_id: `e${index}`,
		timestampMs: Date.parse(first) + index,
		body: JSON.stringify(
			index % 2 ? { type: "sent" } : { type: "paid", index, key: index ** 3 },
		),
	}));
	const days = await manifest({ [first]: [events] });
	const opens: number[] = [];
	for (const types of [["paid"], ["paid", "odd", "sent"]]) {
		opened.mockClear();
		const end = await load(later(days), {
			input: { eventTypes: tablesFor(...types) },
		});
		expect(end.exitCode, end.log).toBe(0);
		opens.push(opened.mock.calls.filter(([path]) => path === file).length);
	}
	expect(opens).toEqual([2, 2]);
	const compressions = (table: string) =>
		rows(
			`SELECT DISTINCT compression FROM pragma_storage_info('orders_${table}') WHERE column_name = 'body' AND segment_type = 'VARCHAR'`,
		);
	expect(await compressions("sent")).toEqual([["Dictionary"]]);
	// DuckDB tries FSST on a sample that it draws by chance.
	expect([["FSST"], ["Uncompressed"]]).toContainEqual(
		(await compressions("paid"))[0],
	);
});
