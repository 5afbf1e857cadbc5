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
