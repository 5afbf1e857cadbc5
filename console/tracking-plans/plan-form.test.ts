import { expect, test } from "vitest";
import {
	byKind,
	inlinePlan,
	lastDays,
	newPlan,
	operationName,
	typePlace,
	withDrafted,
	withTypePlace,
} from "./plan-form.ts";

test("an event's type is at one place", () => {
	const header = withTypePlace(newPlan(), "header");
	expect(header.spec.eventType).toEqual({ header: "" });
	expect(typePlace(header)).toBe("header");
	expect(typePlace({ name: "", spec: {} })).toBe("bodyPointer");
});

test("a draft replaces the schemas, and keeps name and policies", () => {
	const mine = newPlan();
	const before = {
		name: "orders",
		spec: { ...mine.spec, onViolation: "Reject", commonFrom: {} },
	};
	const drafted = {
		name: "draft",
		spec: {
			eventType: { bodyPointer: "/event" },
			common: { type: "object" },
			events: [{ type: "paid" }],
			onViolation: "Annotate",
		},
	};
	expect(withDrafted(before, drafted)).toEqual({
		name: "orders",
		spec: {
			...mine.spec,
			eventType: { bodyPointer: "/event" },
			common: { type: "object" },
			events: [{ type: "paid" }],
			onViolation: "Reject",
		},
	});
	expect(
		inlinePlan({ name: "a", spec: { displayName: "A", events: [] } }),
	).toEqual({ events: [] });
});

test("violations are counted by kind, over all sources", () => {
	const found = byKind([
		{
			type: "a",
			kind: "TypeMismatch",
			annotated: 1,
			quarantined: 0,
			lastEventTime: "2026-11-02T00:00:00Z",
		},
		{
			kind: "UnplannedEvent",
			annotated: 0,
			quarantined: 9,
			lastEventTime: "2026-11-01T00:00:00Z",
		},
		{
			type: "b",
			kind: "TypeMismatch",
			annotated: 2,
			quarantined: 3,
			lastEventTime: "2026-11-01T00:00:00Z",
		},
	]);
	expect(found).toEqual([
		{
			kind: "UnplannedEvent",
			annotated: 0,
			quarantined: 9,
			lastEventTime: "2026-11-01T00:00:00Z",
		},
		{
			kind: "TypeMismatch",
			annotated: 3,
			quarantined: 3,
			lastEventTime: "2026-11-02T00:00:00Z",
		},
	]);
});

test("an operation's name fits, whatever the source is called", () => {
	expect(operationName("DryRun", "the.shop", "ab12cd")).toBe(
		"dryrun-the-shop-ab12cd",
	);
	const long = operationName("Release", "x".repeat(60), "ab12cd34");
	expect(long.length).toBeLessThanOrEqual(52);
	expect(long).toMatch(/^[a-z0-9-]+$/);
	expect(lastDays(7, Date.parse("2026-03-03T12:00:00Z"))).toEqual({
		start: "2026-02-25",
		end: "2026-03-03",
	});
});
