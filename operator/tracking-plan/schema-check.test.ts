import { expect, test } from "vitest";
import type { PlanDocument } from "../../contracts/tracking-plan.ts";
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
	expect(await check.faultOf(planWith(manyReferences()))).toBeUndefined();
});

test("a plan that takes too long is a fault of that plan, and the next one is checked", async () => {
	const check = new SchemaCheck({ cpuMs: 1, maxMegabytes: 256 });
	expect(await check.faultOf(planWith({}))).toContain(
		"take more than 0.001 s of processor time to compile",
	);
	const patient = new SchemaCheck();
	const faults = await Promise.all([
		patient.faultOf(planWith({ type: "objekt" })),
		patient.faultOf(planWith({ type: "object" })),
	]);
	expect(faults).toEqual([expect.stringContaining("/type must be"), undefined]);
});

test("a plan that takes too much memory is a fault of that plan, and the next one is checked", async () => {
	const check = new SchemaCheck({ cpuMs: 60_000, maxMegabytes: 24 });
	const large = {
		anyOf: Array.from({ length: 60_000 }, (_, index) => ({
			properties: { [`p${index}`]: { minLength: index } },
		})),
	};
	expect(await check.faultOf(planWith(large))).toContain(
		"take more than 24 MB to compile",
	);
	expect(await check.faultOf(planWith({}))).toBeUndefined();
});
