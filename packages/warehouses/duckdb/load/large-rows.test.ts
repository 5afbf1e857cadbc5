import { expect, test } from "vitest";
import type { TableColumn } from "../../../contracts/job.ts";
import { slicesOf, vectorBytes } from "./large-rows.ts";

const body: TableColumn = { name: "body", from: "Body" };
const id: TableColumn = { name: "event_id", from: "EventID" };
const whole: TableColumn = {
	name: "whole",
	from: { bodyPointer: "/all", type: "JSON" },
};
const object = (rows: number, bodyBytes: number, file = "") => ({
	...{ rows, bodyBytes, file },
});

test.each<[string, number[][], TableColumn[], number]>([
	["few rows are counted as they are", [[10, 5_000]], [id, body], 5_000],
	["many count as 2,048", [[4_096, 8_192]], [body], 4_096],
	[
		"the largest are together, whatever their place",
		[
			[2_000, 2_000],
			[100, 100_000],
		],
		[body],
		101_948,
	],
	["a value of the body may be as long", [[10, 50]], [body, whole], 100],
	["without the body there is nothing large", [[10, 50]], [id], 0],
])("%s", (_, objects, columns, bytes) => {
	const sized = objects.map(([rows, bytes]) => object(rows!, bytes!));
	expect(vectorBytes(sized, columns)).toBe(bytes);
});

test("slices have as many objects as fit, and never less than one", () => {
	const sizes = [6, 3, 4, 20, 1, 9, 1];
	const objects = sizes.map((bytes, index) => object(1, bytes, `${index}`));
	const slices = slicesOf(objects, 10);
	expect(slices.map((slice) => slice.map(({ file }) => file))).toEqual([
		["0", "1"],
		["2"],
		["3"],
		["4", "5"],
		["6"],
	]);
});
