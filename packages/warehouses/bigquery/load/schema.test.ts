import { expect, test } from "vitest";
import { earlyLabels } from "../../../../test/support/examples/table-marks.ts";
import { labelsOf, markFor, markOf } from "./schema.ts";

const mark = { run: "u", snapshotMs: 200 };
const sourceKey = "f".repeat(32);
const holds = { sourceKey, through: "2026-03-01" };
const owned = { ...mark, pipeline: "shop/p", sourceKey };

test.each([mark, { ...mark, holds }, owned, { ...owned, holds }])(
	"labels carry the mark %j",
	(mark) => {
		expect(markOf({ labels: labelsOf(mark) })).toEqual(mark);
	},
);

test("labels of an incomplete table replace those of a complete one", () => {
	const labels = { ...labelsOf({ ...mark, holds }), ...labelsOf(mark) };
	expect(markOf({ labels })).toEqual(mark);
});

test.each([undefined, { team: "x" }])("the labels %j are no mark", (labels) => {
	expect(markOf(labels ? { labels } : {})).toBeUndefined();
});

test("the longest names are labels that BigQuery takes", () => {
	const pipeline = `${"n".repeat(63)}/${"p".repeat(40)}`;
	const labels = labelsOf({ ...owned, pipeline });
	for (const value of Object.values(labels))
		expect(value).toMatch(/^[a-z0-9_-]{0,63}$/);
	expect(markOf({ labels })).toEqual({ ...owned, pipeline });
});

test("labels of an early build name the Source once a load is complete", () => {
	expect(markOf({ labels: earlyLabels(sourceKey)! })).toMatchObject({ holds });
	expect(markOf({ labels: earlyLabels("")! })).not.toHaveProperty("holds");
});

test("a first load of an early build that was interrupted is told by the words on its table", () => {
	const description = "Events of Source shop/s, loaded by Pipeline shop/p";
	const input = {
		run: { name: "r", uid: "u", account: "shop", pipeline: "p" },
		table: { name: "orders", columns: [], description },
	};
	const labels = earlyLabels("")!;
	const found = markFor({ labels, description }, input);
	expect(found?.pipeline).toBe("shop/p");
	for (const other of ["", "Events of Source shop/s"])
		expect(markFor({ labels, description: other }, input)).not.toHaveProperty(
			"pipeline",
		);
	expect(markFor({ description }, input)).toBeUndefined();
});
