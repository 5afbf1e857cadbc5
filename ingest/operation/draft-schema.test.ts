import { expect, test } from "vitest";
import { schemaOf } from "./draft-schema.ts";
import { merge, newShape, observe } from "./draft-shape.ts";

function schemaOfValues(
	values: unknown[],
	{ depth = 10, shapes = 1_000 } = {},
) {
	const shape = newShape();
	const room = { shapes };
	for (const value of values) observe(shape, value, room);
	return schemaOf(shape, depth);
}

const many = <T>(count: number, make: (index: number) => T): T[] =>
	Array.from({ length: count }, (_, index) => make(index));

test("a property is required if every object has it", () => {
	expect(schemaOfValues([{ id: 1, note: "hi!" }, { id: 2 }])).toEqual({
		type: "object",
		required: ["id"],
		properties: { id: { type: "integer" }, note: { type: "string" } },
	});
});

test("types are those that came, and an integer beside a number is one", () => {
	expect(schemaOfValues([1, 2])).toEqual({ type: "integer" });
	expect(schemaOfValues([1, 2.5])).toEqual({ type: "number" });
	expect(schemaOfValues([1, null])).toEqual({ type: ["integer", "null"] });
	expect(schemaOfValues([[1], [true]])).toEqual({
		type: "array",
		items: { type: ["boolean", "integer"] },
	});
	expect(schemaOfValues([[]])).toEqual({ type: "array" });
	expect(schemaOfValues([{}])).toEqual({ type: "object" });
});

test.each([
	["2026-02-28T23:59:59.123Z", "date-time"],
	["2024-02-29T00:00:00+02:00", "date-time"],
	["2026-12-31", "date"],
	["0190f8f0-0000-7000-8000-000000000000", "uuid"],
	["jo@shop.example", "email"],
	["https://shop.example/orders?id=1", "uri"],
	["10.0.0.255", "ipv4"],
	["2026-02-29", undefined],
	["2026-02-30T00:00:00Z", undefined],
	["2026-02-28 23:59:59", undefined],
	["10.0.0.256", undefined],
	["https://shop.example/a b", undefined],
	["", undefined],
	[`https://shop.example/${"a".repeat(10_000)}`, undefined],
])("%.40s has the format %s", (text, format) => {
	expect(schemaOfValues([text])).toEqual({
		type: "string",
		...(format && { format }),
	});
});

test("strings of different formats have none", () => {
	expect(schemaOfValues(["2026-12-31", "soon"])).toEqual({ type: "string" });
	expect(schemaOfValues(["soon", "2026-12-31"])).toEqual({ type: "string" });
});

test("few values that come often are an enumeration; anything else isn't", () => {
	const status = (index: number) => (index % 2 ? "paid" : "open");
	expect(schemaOfValues(many(20, status))).toEqual({
		type: "string",
		enum: ["open", "paid"],
	});
	for (const values of [
		many(19, status),
		many(200, (index) => `name ${index % 11}`),
		many(200, () => "Dear customer! Your order"),
		[...many(200, status), null],
		[...many(200, status), "x".repeat(41)],
	])
		expect(schemaOfValues(values)).not.toHaveProperty("enum");
});

test("an object with a key for each identifier is a map, not a type of its own", () => {
	const ids = many(4, (index) => `019${index}f8f0-0000-7000-8000-000000000000`);
	const prices = Object.fromEntries(ids.map((id) => [id, { price: 1 }]));
	const map = {
		type: "object",
		additionalProperties: {
			type: "object",
			required: ["price"],
			properties: { price: { type: "integer" } },
		},
	};
	expect(schemaOfValues([prices])).toEqual(map);
	const ofCustomers = many(100, (index) => ({
		[`customer-${String.fromCharCode(97 + (index % 26))}-${index}`]: {
			price: 1,
		},
	}));
	expect(schemaOfValues(ofCustomers)).toEqual(map);
	const names = many(1_000, (index) => [`k${index}`, { price: 1 }]);
	expect(schemaOfValues([Object.fromEntries(names)])).toEqual(map);
});

test("what there is no room for stays open: depth, breadth, names that are too long", () => {
	let deep: unknown = 1;
	for (let level = 0; level < 5_000; level++) deep = { deep };
	expect(JSON.stringify(schemaOfValues([deep])).length).toBeLessThan(1_000);
	expect(schemaOfValues([{ a: { b: 1 } }], { depth: 1 })).toEqual({
		type: "object",
		required: ["a"],
		properties: { a: { type: "object" } },
	});
	expect(schemaOfValues([{ a: 1, b: 2 }], { shapes: 1 })).toEqual({
		type: "object",
		required: ["a"],
		properties: { a: { type: "integer" } },
		additionalProperties: true,
	});
	expect(schemaOfValues([{ ["n".repeat(201)]: 1 }])).toEqual({
		type: "object",
		additionalProperties: { type: "integer" },
	});
});

test("two merged shapes are as if all had come to one", () => {
	const [few, more] = [
		[{ a: "2026-12-31", b: [1] }, { a: null }],
		[{ a: "soon", c: { "1": true, "2": false, "3": true } }, { b: [] }],
	];
	const [one, other, all] = [newShape(), newShape(), newShape()];
	const room = { shapes: 1_000 };
	for (const value of few) observe(one, value, room);
	for (const value of more) observe(other, value, room);
	for (const value of [...few, ...more]) observe(all, value, room);
	merge(one, other);
	expect(schemaOf(one, 10)).toEqual(schemaOf(all, 10));
});
