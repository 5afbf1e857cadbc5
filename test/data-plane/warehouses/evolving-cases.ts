import { expect } from "vitest";
import { columnsOf } from "../../../operator/pipeline/columns.ts";
import { inferredColumns } from "../../../operator/pipeline/inferred-columns.ts";
import {
	type FoundColumnType,
	type LoadInput,
	maxBodyColumns,
	type TableColumn,
} from "../../../packages/contracts/job.ts";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import { warehouses } from "../../../packages/warehouses/registry.ts";
import {
	destinationOf,
	layout,
	pipelineOf,
	runOf,
} from "../../support/examples/resource-examples.ts";
import {
	first,
	later,
	loaded,
	second,
} from "../../support/fixtures/data-plane/conforming-days.ts";
import type {
	ConformingWarehouse,
	WarehouseName,
} from "../../support/fixtures/data-plane/conforming-warehouses.ts";
import { columns as fixed } from "../../support/fixtures/data-plane/load-fixture.ts";
import type { WarehouseCase } from "./warehouse-case.ts";

/* A table whose columns follow the events, on every type of warehouse. */

type Found = Record<string, FoundColumnType>;

/** With the columns that a Pipeline has for what was found, and its last one. */
function evolved(
	found: Found = {},
	{ own = [], free = 100 }: { own?: TableColumn[]; free?: number } = {},
): Partial<LoadInput> {
	return {
		table: {
			name: "orders",
			description: "Events",
			columns: [
				...fixed,
				...own,
				...Object.entries(found).map(
					([bodyPointer, type]): TableColumn => ({
						name: bodyPointer.slice(1).replaceAll("/", "_"),
						from: { bodyPointer, type } as TableColumn["from"],
						isFound: true,
					}),
				),
				{
					name: "_rescued",
					from: { bodyPointer: "", type: "String", isRest: true },
				},
			],
		},
		...(free > 0 && { evolves: { columns: free, bytes: 65_536 } }),
	};
}

async function daysOf(
	warehouse: ConformingWarehouse,
	days: Record<string, unknown[]>,
): Promise<Manifest> {
	return later(
		await warehouse.manifest(
			Object.fromEntries(
				Object.entries(days).map(([date, bodies]) => [
					date,
					[
						bodies.map((body, index) => ({
							event_id: `${date}-${index}`,
							timestampMs: Date.parse(date) + index * 1_000,
							body: typeof body === "string" ? body : JSON.stringify(body),
						})),
					],
				]),
			),
		),
	);
}

/** The warehouse's type as a Destination has it. */
const specTypeOf = (type: WarehouseName) =>
	/Postgres/.test(type) ? "Postgres" : type;

/** A Pipeline, as its status names what Jobs find. */
function pipelineInto(type: WarehouseName) {
	const pipeline = pipelineOf({
		table: { ...pipelineOf().spec.table, name: "orders", schema: "Evolve" },
	});
	const destination = destinationOf();
	destination.spec = { ...destination.spec, type: specTypeOf(type) as never };
	const given = { source: undefined, destination, trackingPlan: undefined };
	return {
		/** What a Job gets. */
		input(): Partial<LoadInput> {
			const found = columnsOf({ pipeline, ...given });
			if ("problem" in found) throw new Error(found.problem);
			const { columns, room } = found;
			return {
				table: { name: "orders", description: "Events", columns },
				...(room!.columns > 0 && { evolves: room! }),
			};
		},
		/** The columns that members have, by pointer. */
		names: (): Record<string, string> =>
			Object.fromEntries(
				(pipeline.status?.inferredColumns?.columns ?? []).map(
					({ name, bodyPointer }) => [bodyPointer, name],
				),
			),
		give(found: Found) {
			const run = runOf("run", {
				layout: { ...layout, table: "orders" },
				columns: Object.entries(found).map(([bodyPointer, type]) => ({
					bodyPointer,
					type,
				})),
			});
			const inferred = inferredColumns(pipeline, [run])!;
			pipeline.status = { ...pipeline.status, inferredColumns: inferred };
		},
	};
}

/** A Run: Jobs until one finds nothing more. */
async function run(
	warehouse: ConformingWarehouse,
	manifest: Manifest,
	pipeline: ReturnType<typeof pipelineInto>,
) {
	for (;;) {
		const { result, log } = await warehouse.load(manifest, {
			input: pipeline.input(),
		});
		if (result?.outcome === "Succeeded") return result;
		const { error } = result!;
		expect(error.code, log).toBe("ColumnsFound");
		pipeline.give(error.columns!);
	}
}

async function foundIn(
	warehouse: ConformingWarehouse,
	manifest: Manifest,
	input: Partial<LoadInput>,
): Promise<Found | undefined> {
	const { result, log } = await warehouse.load(manifest, { input });
	if (result?.outcome === "Succeeded") return undefined;
	expect(result?.outcome === "Failed" && result.error.code, log).toBe(
		"ColumnsFound",
	);
	return result?.outcome === "Failed" ? result.error.columns : undefined;
}

const rowsOf = (warehouse: ConformingWarehouse, ...names: string[]) =>
	warehouse
		.rows(
			`SELECT ${names.map((name) => `"${name}"`).join(", ")} FROM orders ORDER BY event_id`,
		)
		.then((rows) =>
			rows.map((row) =>
				row.map((value) =>
					value === null || value === undefined ? null : String(value),
				),
			),
		);

/** Of texts that no warehouse stores elsewhere than in the row. */
const membersOf = (count: number) =>
	Array.from(
		{ length: count },
		(_, index) => [`m${index}`, `${index}`.padEnd(23, "x")] as const,
	);

export const evolvingCases: WarehouseCase[] = [
	{
		promise: true,
		name: "new members are told before anything changes, then they are columns, and what no column holds is rescued and counted",
		run: async (warehouse) => {
			const one = await daysOf(warehouse, {
				[first]: [
					{
						id: 1,
						order: { total: 1.5, paid: true, at: "2026-03-01T12:00:00Z" },
					},
					{ id: 2, order: { total: 2, note: "x", gone: null, empty: {} } },
				],
			});
			const found: Found = {
				"/id": "Integer",
				"/order/total": "Number",
				"/order/at": "Timestamp",
				"/order/note": "String",
				"/order/paid": "Boolean",
			};
			expect(await foundIn(warehouse, one, evolved())).toEqual(found);
			expect(await warehouse.counts()).toEqual({});
			for (const manifest of [one, later(one)]) {
				expect(await loaded(warehouse, manifest, evolved(found))).toMatchObject(
					{
						rows: 2,
					},
				);
				expect(
					await rowsOf(
						warehouse,
						"id",
						"order_total",
						"order_note",
						"_rescued",
					),
				).toEqual([
					["1", "1.5", null, null],
					["2", "2", "x", null],
				]);
			}
			// A type that changes, and a day of its own with a new member: the other day needs no other load.
			const two = await daysOf(warehouse, {
				[second]: [
					{ id: "three", order: { total: { net: 1 } }, coupon: "c" },
					{ id: 4, order: "none", coupon: "d" },
				],
			});
			const chosen: Manifest = { ...two, asked: { extent: "Chosen" } };
			expect(await foundIn(warehouse, chosen, evolved(found))).toEqual({
				"/coupon": "String",
			});
			const more: Found = { ...found, "/coupon": "String" };
			expect(await loaded(warehouse, chosen, evolved(more))).toMatchObject({
				rows: 2,
				rescuedRows: 2,
				unfitValues: expect.arrayContaining([
					expect.objectContaining({ column: "id", rows: 1, values: 2 }),
					expect.objectContaining({ column: "order_total", rows: 1 }),
				]),
			});
			expect(await rowsOf(warehouse, "id", "coupon", "_rescued")).toEqual([
				["1", null, null],
				["2", null, null],
				[null, "c", '{"id":"three","order":{"total":{"net":1}}}'],
				["4", "d", '{"order":"none"}'],
			]);
		},
	},
	{
		name: "whatever senders call members, a Run has columns for them, and a repeat has the same",
		run: async (warehouse, type) => {
			const pipeline = pipelineInto(type);
			const odd: Record<string, unknown> = {
				...{ event_id: "e", date: "d", timestamp: "t", body: "b", run: "r" },
				...{ _rescued: "x", rescued: "y", header_a: "h", ctid: 1, select: 2 },
				...{ "a b": 1, "a-b": 2, aB: 3, "q\"uo'te": 4, größe: 5, "": 6, 名: 7 },
				...{ ["n".repeat(150)]: 8, [`${"n".repeat(149)}m`]: 9, "a\nb": 10 },
				...{ constructor: 11, "9lives": 12, "x; DROP TABLE orders": "--" },
			};
			const body = `{"__proto__": 13, ${JSON.stringify(odd).slice(1)}`;
			const manifest = await daysOf(warehouse, {
				[first]: [body, "[1]", '"text"', "null", {}],
			});
			expect(await run(warehouse, manifest, pipeline)).toMatchObject({
				rows: 5,
				rescuedRows: 3,
			});
			const names = pipeline.names();
			expect(Object.keys(names).length).toBe(Object.keys(odd).length);
			const all = Object.values(names).sort();
			const [row, array, text, none, empty] = await rowsOf(
				warehouse,
				...all,
				"_rescued",
			);
			const byName = Object.fromEntries(
				all.map((name, index) => [name, row![index]]),
			);
			const expected = Object.entries(odd).flatMap(([name, value]) => {
				const column = names[`/${name}`];
				return column ? [[column, String(value)]] : [];
			});
			expect(byName).toEqual({
				...Object.fromEntries(expected),
				[names["/__proto__"]!]: "13",
			});
			expect(row!.at(-1)).toBe(String.raw`{"a\nb":10}`);
			expect([array!.at(-1), text!.at(-1)]).toEqual(["[1]", '"text"']);
			expect([none!.at(-1), empty!.at(-1)]).toEqual([null, null]);
			expect(await run(warehouse, later(manifest), pipeline)).toMatchObject({
				rows: 5,
				rescuedRows: 3,
			});
			expect(pipeline.names()).toEqual(names);
		},
	},
	{
		name: "a Run that is killed leaves the old rows or the new ones when it adds a column, and a repeat has them all",
		run: async (warehouse) => {
			const a: Found = { "/a": "Integer" };
			const one = await daysOf(warehouse, {
				[first]: [{ a: 1 }],
				[second]: [{ a: 2 }],
			});
			await loaded(warehouse, one, evolved(a));
			for (const [index, after] of [1, 2, 4, 8].entries()) {
				const name = `b${index}`;
				const found = { ...a, [`/${name}`]: "String" } as Found;
				Object.assign(a, found);
				const two = await daysOf(warehouse, {
					[second]: [{ a: 3, [name]: "x" }, { a: "y" }],
				});
				const chosen: Manifest = { ...two, asked: { extent: "Chosen" } };
				const { isDone, signal } = warehouse.strike(after);
				const end = await warehouse.load(chosen, {
					input: evolved(found),
					...(signal && { signal }),
				});
				if (!isDone()) expect(end.exitCode, end.log).toBe(0);
				const counts = await warehouse.counts();
				expect(counts[first]).toBe(1);
				expect([1, 2]).toContain(counts[second]);
				await loaded(warehouse, later(chosen), evolved(found));
				expect(await rowsOf(warehouse, "a", name, "_rescued")).toEqual([
					["1", null, null],
					["3", "x", null],
					[null, null, '{"a":"y"}'],
				]);
			}
			// The columns can be said by the spec instead: the table stays as it is.
			const { columns, ...table } = evolved(a).table!;
			const frozen = columns
				.filter(({ name }) => name !== "_rescued")
				.map(({ isFound: _, ...column }) => column);
			await loaded(warehouse, later(one), {
				table: { ...table, columns: frozen },
			});
			expect(await rowsOf(warehouse, "a", "b0", "_rescued")).toEqual([
				["1", null, null],
				["2", null, null],
			]);
		},
	},
	{
		name: "a table that has a column of the name and another type gives its own type, or keeps its column, and no Run fails",
		run: async (warehouse) => {
			const amount: TableColumn = {
				name: "amount",
				from: {
					...{ bodyPointer: "/amount", type: "Decimal" },
					...{ precision: 12, scale: 2 },
				} as TableColumn["from"],
			};
			await loaded(
				warehouse,
				await daysOf(warehouse, { [first]: [{ id: "a", amount: 1.5 }] }),
				evolved({ "/id": "String" }, { own: [amount] }),
			);
			// As after its Pipeline was made again, and only integers came.
			const two = await daysOf(warehouse, {
				[second]: [
					{ id: 7, amount: 2 },
					{ id: "c", amount: 3 },
				],
			});
			const chosen: Manifest = { ...two, asked: { extent: "Chosen" } };
			expect(
				await foundIn(
					warehouse,
					chosen,
					evolved({ "/id": "Integer", "/amount": "Integer" }),
				),
			).toEqual({ "/id": "String" });
			const input = evolved({ "/id": "String", "/amount": "Integer" });
			for (const manifest of [chosen, later(chosen)]) {
				expect(await loaded(warehouse, manifest, input)).toMatchObject({
					rows: 2,
					rescuedRows: 2,
					warning: expect.stringMatching(
						/^Column "amount" of the table has type .*12, ?2\)|NUMERIC.*"_rescued"\.$/,
					),
				});
				expect(await rowsOf(warehouse, "id", "_rescued")).toEqual([
					["a", null],
					["7", '{"amount":2}'],
					["c", '{"amount":3}'],
				]);
			}
		},
	},
	{
		name: "a table that is replaced as a whole gets columns of today's types where its own have others",
		run: async (warehouse) => {
			const whole = (input: Partial<LoadInput>): Partial<LoadInput> => ({
				...input,
				strategy: "FullReload",
				table: {
					...input.table!,
					columns: input.table!.columns.filter(({ from }) => from !== "Date"),
				},
			});
			const amount: TableColumn = {
				name: "amount",
				from: {
					...{ bodyPointer: "/amount", type: "Decimal" },
					...{ precision: 12, scale: 2 },
				} as TableColumn["from"],
			};
			const one = await daysOf(warehouse, { [first]: [{ amount: 1.5 }] });
			await loaded(warehouse, one, whole(evolved({}, { own: [amount] })));
			expect(
				await loaded(
					warehouse,
					later(one),
					whole(evolved({ "/amount": "Number" })),
				),
			).toMatchObject({ rows: 1 });
			expect(await rowsOf(warehouse, "amount", "_rescued")).toEqual([
				["1.5", null],
			]);
		},
	},
	{
		name: "members beyond what a table has room for are rescued, and thousands of rows with all columns filled fit into memory",
		shared: true,
		run: async (warehouse, type) => {
			const pipeline = pipelineInto(type);
			const { mostBodyColumns: most = maxBodyColumns } = warehouses.get(
				specTypeOf(type),
			)!;
			const members = membersOf(most + 20);
			// A Job names about 90.
			pipeline.give(
				Object.fromEntries(
					members.slice(0, most - 10).map(([name]) => [`/${name}`, "String"]),
				),
			);
			const last = members.at(-1)![0];
			const full = JSON.stringify(Object.fromEntries(members));
			const manifest = await daysOf(warehouse, {
				[first]: [...Array(3_000).fill(full), { m0: "y" }, { [last]: "z" }],
			});
			const { rescuedRows } = await run(warehouse, manifest, pipeline);
			const names = pipeline.names();
			expect(Object.keys(names).length).toBe(most);
			const hasLast = names[`/${last}`] !== undefined;
			expect(rescuedRows).toBe(hasLast ? 3_000 : 3_001);
			for (const place of [0, most - 11]) {
				const [name, value] = members[place]!;
				const [[count] = []] = await warehouse.rows(
					`SELECT count(*) AS n FROM orders WHERE "${names[`/${name}`]}" = '${value}'`,
				);
				expect(Number(count)).toBe(3_000);
			}
			const [[rescued] = []] = await warehouse.rows(
				'SELECT min("_rescued") AS rescued FROM orders WHERE length("_rescued") > 50',
			);
			expect(Object.keys(JSON.parse(String(rescued))).length).toBe(20);
			expect(await run(warehouse, later(manifest), pipeline)).toMatchObject({
				rows: 3_002,
				rescuedRows,
			});
		},
	},
	{
		name: "as many columns as a table may infer each have a row for a value that they can't hold",
		shared: true,
		run: async (warehouse, type) => {
			const pipeline = pipelineInto(type);
			const { mostBodyColumns: most = maxBodyColumns } = warehouses.get(
				specTypeOf(type),
			)!;
			const names = Array.from({ length: most }, (_, index) => `m${index}`);
			pipeline.give(
				Object.fromEntries(names.map((name) => [`/${name}`, "Integer"])),
			);
			const bodyOf = (value: unknown) =>
				JSON.stringify(Object.fromEntries(names.map((name) => [name, value])));
			const events = 5;
			const manifest = await daysOf(warehouse, {
				[first]: [bodyOf(7), ...Array(events).fill(bodyOf("odd"))],
			});
			const input = (): Partial<LoadInput> => ({
				...pipeline.input(),
				rejectedTable: { name: "orders_rejected", description: "" },
			});
			for (const again of [manifest, later(manifest)]) {
				expect(await loaded(warehouse, again, input())).toMatchObject({
					rows: events + 1,
					rescuedRows: events,
				});
				const [counts] = await warehouse.rows(
					"SELECT count(*), count(DISTINCT column_name), count(DISTINCT event_id), min(value), max(value) FROM orders_rejected",
				);
				expect(counts!.map(String)).toEqual(
					[events * most, most, events, '"odd"', '"odd"'].map(String),
				);
			}
		},
	},
];
