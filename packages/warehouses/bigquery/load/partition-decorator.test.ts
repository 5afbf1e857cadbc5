import { expect, test } from "vitest";
import { isPartition, partitionOf } from "./plan.ts";

test("a day's partition is the table's name, a dollar sign and the date's digits", () => {
	expect(partitionOf("orders", "2026-03-01")).toBe("orders$20260301");
});

test("only an id with a decorator names a partition", () => {
	expect(isPartition(partitionOf("orders", "2026-03-01"))).toBe(true);
	expect(isPartition("orders_20260301")).toBe(false);
});
