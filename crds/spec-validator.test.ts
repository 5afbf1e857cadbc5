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
			{
				path: "spec.dateRange.start",
				message: "must be a date such as 2026-01-31",
			},
			{
				path: "spec.table.columns[1]",
				message:
					"must be one of EventID, Timestamp, Body, Date, Violations, LoadedAt, Run",
			},
			{ path: "spec.overwritePeriodDays", message: "must be <= 30" },
		]),
	);
	expect(errors).toHaveLength(5);
});

test("a list that is a set has no member twice", () => {
	const webhook = { capturedHeaders: ["x-a", "x-a"] };
	expect(validateSpec("Source", { type: "Webhook", webhook })).toEqual([
		{
			path: "spec.webhook.capturedHeaders",
			message: "has the same item twice, as [0] and [1]",
		},
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

const withFields = (count: number) =>
	Object.fromEntries(
		Array.from({ length: count }, (_, index) => [`f${index}`, 0]),
	);

test("a spec has 1,000 errors at most, and a very large one is checked up to its first error", () => {
	expect(validateSpec("Pipeline", withFields(9_000))).toHaveLength(1_000);
	expect(validateSpec("Pipeline", withFields(100_000))).toHaveLength(1);
	const columns = Array.from({ length: 100_000 }, () => ({}));
	const pipeline = { sourceRef: { name: "a" }, destinationRef: { name: "b" } };
	expect(
		validateSpec("Pipeline", { ...pipeline, table: { columns } }),
	).toHaveLength(1);
});

test("a very large tracking plan is valid, or has the error that a small one has", () => {
	const plan = {
		eventType: { constant: "order" },
		common: { type: "object", properties: withFields(50_000) },
	};
	expect(validateSpec("TrackingPlan", plan)).toEqual([]);
	expect(validateSpec("TrackingPlan", { ...plan, commno: {} })).toEqual([
		{ path: "spec.commno", message: "is not a known field" },
	]);
});

test("the path of an error is short, however long the names in a spec are", () => {
	const long = "x".repeat(100_000);
	const [unknown] = validateSpec("Destination", {
		type: "DuckDB",
		duckDB: { path: "a" },
		[long]: 0,
	});
	expect(unknown!.path).toHaveLength("spec.".length + 257);
	const [nested] = validateSpec("Pipeline", {
		sourceRef: { name: "a" },
		destinationRef: { name: "b" },
		runTemplate: { labels: { [long]: 0 } },
	});
	expect(nested!.path.length).toBeLessThan(300);
});
