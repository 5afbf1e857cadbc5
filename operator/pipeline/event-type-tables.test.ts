import { expect, test } from "vitest";
import type { PipelineStatus } from "../../crds/generated/types.ts";
import {
	layout,
	pipelineOf,
	runOf,
	sourceOf,
} from "../../test/support/examples/resource-examples.ts";
import { eventTypeTables } from "./event-type-tables.ts";
import { placeForTables } from "./filter.ts";

type Known = PipelineStatus["eventTypeTables"];

/** The tables of types that a Run has found, by type. */
function named(
	found: string[],
	{
		known,
		taken = [],
		foreign,
		maxEventTypes,
		name = "shop",
	}: {
		known?: Known;
		taken?: string[];
		foreign?: string[];
		maxEventTypes?: number;
		name?: string;
	} = {},
): Record<string, string> {
	const pipeline = pipelineOf({
		table: {
			...pipelineOf().spec.table,
			name,
			perEventType: true,
			...(maxEventTypes !== undefined && { maxEventTypes }),
		},
	});
	pipeline.status = { ...(known && { eventTypeTables: known }) };
	const run = runOf("run", {
		layout: { ...layout, table: "shop" },
		eventTypes: found,
		...(foreign && { takenTables: foreign }),
	});
	const { types } = eventTypeTables(pipeline, [run], (table) =>
		taken.includes(table),
	)!;
	return Object.fromEntries(types.map(({ type, table }) => [type, table]));
}

test("tables are named by their types, in lower snake case", () => {
	expect(
		named(["orders/create", "customer.created", "pull_request", "OrderPaid"]),
	).toEqual({
		"orders/create": "shop_orders_create",
		"customer.created": "shop_customer_created",
		pull_request: "shop_pull_request",
		OrderPaid: "shop_order_paid",
	});
});

test("of types with the same name the first has it, and the others have a digest in theirs, however they come", () => {
	const all = named(["a.b", "a/b", "A b"]);
	expect(all["a.b"]).toBe("shop_a_b");
	expect(all["a/b"]).toMatch(/^shop_a_b_[0-9a-f]{8}$/);
	expect(new Set(Object.values(all)).size).toBe(3);
	const known: Known = {
		table: "shop",
		types: [{ type: "a/b", table: "shop_a_b" }],
	};
	expect(named(["a.b", "a/b"], { known })).toMatchObject({
		"a/b": "shop_a_b",
		"a.b": expect.stringMatching(/^shop_a_b_[0-9a-f]{8}$/),
	});
});

test("no type has the name of a table beside it, of another Pipeline's table, or one of more than 63 bytes", () => {
	const long = "x".repeat(200);
	const digest = expect.stringMatching(/_[0-9a-f]{8}$/);
	const all = named(["other", "rejected", "orders", long, "Ä/", "日本"], {
		taken: ["shop_orders"],
	});
	expect(all).toEqual({
		other: digest,
		rejected: digest,
		orders: digest,
		[long]: digest,
		"Ä/": digest,
		日本: digest,
	});
	for (const name of Object.values(all)) {
		expect(Buffer.byteLength(name)).toBeLessThanOrEqual(63);
		expect(name).toMatch(/^shop_[a-z0-9_]+$/);
	}
});

test("a type whose table is somebody else's gets a name by a digest once, and the others keep theirs", () => {
	const known: Known = {
		table: "shop",
		types: [
			{ type: "b", table: "shop_b" },
			{ type: "c", table: "shop_c" },
		],
	};
	const named1 = named(["d"], { known, foreign: ["shop_b", "shop_d"] });
	expect(named1).toEqual({
		b: expect.stringMatching(/^shop_b_[0-9a-f]{8}$/),
		c: "shop_c",
		d: expect.stringMatching(/^shop_d_[0-9a-f]{8}$/),
	});
	const types = Object.entries(named1).map(([type, table]) => ({
		type,
		table,
	}));
	const foreign = types.map(({ table }) => table);
	expect(named([], { known: { table: "shop", types }, foreign })).toEqual({
		...named1,
		c: expect.stringMatching(/^shop_c_[0-9a-f]{8}$/),
	});
});

test("types beyond the maximum get no table, and a type that has one keeps it", () => {
	const known: Known = {
		table: "shop",
		types: [
			{ type: "b", table: "shop_b" },
			{ type: "c", table: "shop_c" },
		],
	};
	expect(named(["a"], { known, maxEventTypes: 1 })).toEqual({
		b: "shop_b",
		c: "shop_c",
	});
	expect(named(["a", "d"], { known, maxEventTypes: 3 })).toEqual({
		b: "shop_b",
		c: "shop_c",
		a: "shop_a",
	});
	expect(
		Object.keys(named(Array.from({ length: 300 }, (_, n) => `${n}`))),
	).toHaveLength(100);
});

test("a table of another name begins anew, without what Runs found before", () => {
	const known: Known = {
		table: "shop",
		types: [{ type: "b", table: "shop_b" }],
	};
	expect(named(["a"], { known, name: "store" })).toEqual({});
});

test("the type stands where the table says, or the filter, and somebody must", () => {
	const place = (
		table: object,
		filter?: NonNullable<Parameters<typeof pipelineOf>[0]>["filter"],
	) =>
		placeForTables({
			pipeline: pipelineOf({
				table: { ...pipelineOf().spec.table, perEventType: true, ...table },
				...(filter && { filter }),
			}),
			source: sourceOf(),
			trackingPlan: undefined,
		});
	const filter = { types: ["a"], eventType: { bodyPointer: "/kind" } };
	expect(place({ eventType: { bodyPointer: "/type" } }, filter)).toEqual({
		place: { bodyPointer: "/type" },
	});
	expect(place({}, filter)).toEqual({ place: { bodyPointer: "/kind" } });
	expect(place({})).toMatchObject({
		problem: expect.stringMatching(
			/^spec\.table has perEventType, and .*Set spec\.table\.eventType\.$/,
		),
	});
	expect(place({ eventType: { header: "x-none" } })).toMatchObject({
		problem: expect.stringContaining("spec.table.eventType.header"),
	});
});
