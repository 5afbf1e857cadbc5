import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { DateObjects } from "./date-objects.ts";

const objects = [
	{ stream: "a", first: 1, rows: 1 },
	{ stream: "b", first: 127, rows: 128 },
	{ stream: "a", first: 2 ** 40, rows: 2 ** 33 },
	{ stream: "a", first: Number.MAX_SAFE_INTEGER, rows: 0 },
	{ stream: "b", first: 16_384, rows: 300 },
];

test("objects come back as they were added, each stream's in order, and are counted", () => {
	const all = DateObjects.of(objects);
	const [a1, b1, a2, a3, b2] = objects;
	expect([...all]).toEqual([a1, a2, a3, b1, b2]);
	expect(all.count).toBe(5);
	expect(all.rows).toBe(1 + 128 + 2 ** 33 + 300);
	expect([...new DateObjects()]).toEqual([]);
});

test("packed objects are restored, and more can be added", () => {
	const all = DateObjects.unpacked(DateObjects.of(objects).packed());
	const next = { stream: "b", first: 16_385, rows: 7 };
	all.add(next);
	expect([...all]).toEqual([...DateObjects.of([...objects, next])]);
	expect([all.count, all.rows]).toEqual([6, 1 + 128 + 2 ** 33 + 307]);
});

test("a minute's object takes at most five bytes", () => {
	const day = new DateObjects();
	for (let minute = 1; minute <= 1_440; minute++)
		day.add({ stream: "s", first: minute * 120, rows: 900 });
	const [[, packed]] = [...day.packed()] as [[string, string]];
	expect(Buffer.from(packed, "base64").length).toBeLessThanOrEqual(5 * 1_440);
});

const cutOf = (stream: string, first: number) => ({
	stream,
	first,
	rows: first,
});
const [a1, a2, a3] = [cutOf("a", 1), cutOf("a", 2), cutOf("a", 3)];
const [a4, a7] = [cutOf("a", 4), cutOf("a", 7)];
const [b1, b5, b6] = [cutOf("b", 1), cutOf("b", 5), cutOf("b", 6)];
const cuts = [a1, a2, a3, a4, a7, b1, b5, b6];

test("of what a compaction replaced, the latest of each stream stands for all, and no count changes", async () => {
	const all = DateObjects.of(cuts);
	const outputs = [
		{ rows: 6, inputs: [a1, a2, a3] },
		{ rows: 13, inputs: [a7, b1, b5] },
	];
	const left = (await all.replace(outputs))!;
	expect([...left]).toEqual([
		{ ...a3, rows: 6 },
		a4,
		a7,
		{ ...b5, rows: 6 },
		b6,
	]);
	for (const count of ["count", "rows"] as const)
		expect(left[count]).toBe(all[count]);
	expect([...left.newest()]).toEqual([...all.newest()]);
	expect([all.replaced, left.replaced]).toEqual([undefined, 3]);
	const restored = DateObjects.unpacked(left.packed(), left.replaced);
	restored.add({ stream: "a", first: 9, rows: 1 });
	expect([restored.count, restored.rows]).toEqual([9, all.rows + 1]);
	const without = restored.without({ stream: "a", first: 9 })!;
	expect([without.count, [...without]]).toEqual([8, [...left]]);
	expect(without.without({ stream: "a", first: 9 })).toBeUndefined();
	expect(without.without({ stream: "c", first: 1 })).toBeUndefined();
});

test("objects stay if they aren't all held, or don't have the rows of what replaces them", async () => {
	const all = DateObjects.of(cuts);
	const other = { stream: "a", first: 5 };
	for (const output of [
		{ rows: 6, inputs: [a1, a2, a3, other] },
		{ rows: 7, inputs: [a1, a2, a3] },
		{ rows: 3, inputs: [a1, a2, { stream: "c", first: 1 }] },
	])
		expect(await all.replace([output])).toBeUndefined();
	expect((await all.replace([]))!.replaced).toBe(0);
	expect([...(await all.replace([]))!]).toEqual(cuts);
});

test("a busy day is replaced in many turns of the event loop", async () => {
	const cuts = 65_536;
	const stream = "s";
	const all = new DateObjects();
	const inputs = Array.from({ length: cuts }, (_, n) => ({
		stream,
		first: n + 1,
	}));
	for (const { first } of inputs) all.add({ stream, first, rows: 1 });
	let isDone = false;
	const replacing = all.replace([{ rows: cuts, inputs }]).finally(() => {
		isDone = true;
	});
	let turns = 0;
	for (; !isDone; turns++) await setImmediate();
	expect(turns).toBeGreaterThan(16);
	expect((await replacing)!.replaced).toBe(cuts - 1);
});
