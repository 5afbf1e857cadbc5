import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import type { PlanDocument } from "../contracts/tracking-plan.ts";
import { compilePlan } from "./compile.ts";
import { PlanValidator } from "./plan-validator.ts";

test("the example in the documentation validates as the page says", () => {
	const file = new URL(
		"../../examples/tracking-plan/plan.yaml",
		import.meta.url,
	);
	const { spec } = parse(readFileSync(file, "utf8")) as {
		spec: Partial<PlanDocument>;
	};
	const document = {
		version: 1,
		account: "shop",
		plan: "orders",
		...spec,
	} as PlanDocument;
	const compiled = compilePlan(document);
	if ("fault" in compiled) throw new Error(compiled.fault);
	const validator = new PlanValidator(document, compiled.code);
	const id = "0193a5b0-0000-7000-8000-000000000000";
	const total = { amount: 5, currency: "GBP" };
	expect(
		validator.validate(
			{ id, type: "order.placed", total, coupon: "x" },
			undefined,
		),
	).toMatchObject({
		outcome: "Accept",
		record: {
			violations: [
				{ kind: "ValueMismatch", path: "/total/currency" },
				{ kind: "UnplannedProperty", path: "/coupon" },
			],
			omit: ["/coupon"],
		},
	});
	expect(
		validator.validate({ id, type: "order.cancelled", why: "late" }, undefined)
			.record,
	).not.toHaveProperty("violations");
	expect(
		validator.validate({ id, type: "order.lost" }, undefined).outcome,
	).toBe("Quarantine");
});
