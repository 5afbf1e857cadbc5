import { expect, test } from "vitest";
import { validateSpec } from "./spec-validator.ts";

test("a spec that the CRD allows has no errors", () => {
	expect(
		validateSpec("Pipeline", {
			sourceRef: { name: "shop" },
			destinationRef: { name: "warehouse" },
			dateRange: { start: "2026-02-28" },
			runTemplate: { resources: { limits: { cpu: 2, memory: "1Gi" } } },
		}),
	).toEqual([]);
});

test("every wrong field is named, with what would be right", () => {
	const errors = validateSpec("Pipeline", {
		sourceRef: {},
		destinationRef: { name: "warehouse" },
		dateRange: { start: "2026-02-30" },
		table: { columns: ["EventID", "Header"] },
		overwritePeriodDays: 31,
		suspended: true,
	});
	expect(errors).toEqual(
		expect.arrayContaining([
			{ path: "spec.sourceRef.name", message: "is required" },
			{ path: "spec.suspended", message: "is not a known field" },
			{ path: "spec.dateRange.start", message: 'must match format "date"' },
			{
				path: "spec.table.columns[1]",
				message: "must be one of EventID, Timestamp, Body, Date",
			},
			{ path: "spec.overwritePeriodDays", message: "must be <= 30" },
		]),
	);
	expect(errors).toHaveLength(5);
});

test("a list that is a set has no member twice", () => {
	const webhook = { capturedHeaders: ["x-a", "x-a"] };
	expect(validateSpec("Source", { type: "Webhook", webhook })).toMatchObject([
		{ path: "spec.webhook.capturedHeaders" },
	]);
});

test("schemas of a tracking plan hold what they like", () => {
	expect(
		validateSpec("TrackingPlan", {
			eventType: { constant: "order" },
			common: { type: "object", anyOf: [{ required: ["id"] }] },
		}),
	).toEqual([]);
});
