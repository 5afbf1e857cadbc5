import { expect, test } from "vitest";
import type { PlanDocument } from "../../packages/contracts/tracking-plan.ts";
import { SchemaCheck } from "./schema-check.ts";

function planWith(schema: Record<string, unknown>): PlanDocument {
	return {
		version: 1,
		account: "shop",
		plan: "orders",
		eventType: { constant: "order" },
		events: [{ type: "order", schema }],
		onUnplannedEvent: "Annotate",
		onViolation: "Annotate",
		onUnplannedProperty: "Annotate",
	};
}

/** A few kilobytes that refer to one large definition again and again. */
function manyReferences(): Record<string, unknown> {
	const properties = (count: number, schema: object) =>
		Object.fromEntries(
			Array.from({ length: count }, (_, index) => [`p${index}`, schema]),
		);
	const large = { properties: properties(200, { minLength: 1, maxLength: 9 }) };
	return {
		properties: properties(1_000, { $ref: "#/$defs/large" }),
		$defs: { large },
	};
}

test("a definition that is referred to a thousand times is compiled once", async () => {
	const check = new SchemaCheck();
	const { bytes } = (await check.check(planWith(manyReferences()))) as {
		bytes: number;
	};
	// A copy for each reference would take two hundred times as much.
	expect(bytes).toBeLessThan(5 * 1024 ** 2);
});

test("a plan that takes too long is a fault of that plan, and the next one is checked", async () => {
	const check = new SchemaCheck({ cpuMs: 1, maxMegabytes: 256 });
	expect(await check.check(planWith({}))).toEqual({
		fault: expect.stringContaining(
			"take more than 0.001 s of processor time to compile",
		),
	});
	const patient = new SchemaCheck();
	const checked = await Promise.all([
		patient.check(planWith({ type: "objekt" })),
		patient.check(planWith({ type: "object" })),
	]);
	expect(checked).toEqual([
		{ fault: expect.stringContaining("/type must be") },
		{ bytes: expect.any(Number) },
	]);
});

test("a plan that takes too much memory is a fault of that plan, and the next one is checked", async () => {
	const check = new SchemaCheck({ cpuMs: 60_000, maxMegabytes: 24 });
	const large = {
		anyOf: Array.from({ length: 60_000 }, (_, index) => ({
			properties: { [`p${index}`]: { minLength: index } },
		})),
	};
	expect(await check.check(planWith(large))).toEqual({
		fault: expect.stringContaining("take more than 24 MB to compile"),
	});
	expect(await check.check(planWith({}))).toHaveProperty("bytes");
});
