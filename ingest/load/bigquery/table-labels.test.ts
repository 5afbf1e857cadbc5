import { expect, test } from "vitest";
import { labelsOf, markOf } from "./table-labels.ts";

const mark = { run: "u", snapshotMs: 200 };
const holds = { sourceKey: "f".repeat(32), through: "2026-03-01" };

test.each([mark, { ...mark, holds }])("labels carry the mark %j", (mark) => {
	expect(markOf({ labels: labelsOf(mark) })).toEqual(mark);
});

test("labels of an incomplete table replace those of a complete one", () => {
	const labels = { ...labelsOf({ ...mark, holds }), ...labelsOf(mark) };
	expect(markOf({ labels })).toEqual(mark);
});

test.each([undefined, { team: "x" }])("the labels %j are no mark", (labels) => {
	expect(markOf(labels ? { labels } : {})).toBeUndefined();
});
