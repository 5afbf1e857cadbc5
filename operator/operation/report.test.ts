import { expect, test } from "vitest";
import { readReport } from "./report.ts";

/* The Job ran in the account's namespace, so that its report may say anything. */

const finding = {
	kind: "TypeMismatch",
	path: "/id",
	message: "must be a number",
	events: 3,
	example: "e1",
};
const dryRun = {
	version: 1,
	type: "DryRun",
	events: 3,
	planned: 0,
	annotated: 3,
	quarantined: 0,
	rejected: 0,
	findings: [finding],
	otherFindings: 0,
};
const draft = {
	version: 1,
	type: "Draft",
	events: 1,
	eventTypes: 1,
	trackingPlan: "kind: TrackingPlan\n",
};
const violation = { kind: "TypeMismatch", path: "/id", message: "a number" };
const listed = {
	eventID: "e1",
	timestamp: "2026-03-01T00:00:00.000Z",
	type: "paid",
	plan: "orders",
	planVersion: "1f",
	violations: [violation],
	otherViolations: 3,
};
const inspect = {
	version: 1,
	type: "Inspect",
	events: 12,
	page: [listed],
	hasMore: true,
};
const read = (
	report: unknown,
	type: "DryRun" | "Draft" | "Inspect" = "DryRun",
) => readReport(JSON.stringify(report), type);

test("a report becomes the status's result and one sentence", () => {
	expect(read(dryRun)?.summary).toBe(
		"3 events: 0 planned, 3 annotated, 0 quarantined, 0 rejected",
	);
	expect(read(draft, "Draft")).toEqual({
		summary: "1 event type from 1 event",
		draft: { events: 1, eventTypes: 1, trackingPlan: "kind: TrackingPlan\n" },
	});
	expect(read(inspect, "Inspect")).toEqual({
		summary: "12 events in quarantine, 1 listed",
		inspect: { events: 12, page: [listed], hasMore: true },
	});
});

test.each([
	["no JSON", undefined],
	["null", null],
	["another version", { ...dryRun, version: 2 }],
	["another type", draft],
	["a negative count", { ...dryRun, rejected: -1 }],
	["a count that is text", { ...dryRun, events: "3" }],
	["a count beyond a number's accuracy", { ...dryRun, events: 2 ** 60 }],
	["no findings", { ...dryRun, findings: undefined }],
	["a finding that is none", { ...dryRun, findings: [null] }],
	["a finding without a count", { ...dryRun, findings: [{ kind: "x" }] }],
])("%s is no report", (_, report) => {
	expect(read(report)).toBeUndefined();
});

test.each([
	["no page", { page: undefined }],
	["an event that is none", { page: [null] }],
	["an event without a time", { page: [{ ...listed, timestamp: "then" }] }],
	["no list of violations", { page: [{ ...listed, violations: "x" }] }],
])("an Inspect's report with %s is none", (_, changes) => {
	expect(read({ ...inspect, ...changes }, "Inspect")).toBeUndefined();
});

test("no more of an Inspect comes into the status than the CRD takes, and nothing else", () => {
	const body = "x".repeat(10_000);
	const event = {
		...listed,
		body,
		violations: Array.from({ length: 9 }, () => ({ ...violation, body })),
	};
	const page = Array.from({ length: 300 }, () => event);
	const found = read({ ...inspect, page }, "Inspect")!.inspect!;
	expect(found.page).toHaveLength(100);
	expect(found.page[0]!.violations).toHaveLength(5);
	expect(JSON.stringify(found)).not.toContain("xxx");
});

test("no more comes into the status than the CRD takes", () => {
	const long = "x".repeat(10_000);
	const hostile = {
		...dryRun,
		secret: long,
		findings: Array(100).fill({
			type: long,
			kind: long,
			path: long,
			message: long,
			events: 1,
			example: null,
			extra: long,
		}),
	};
	const { dryRun: result } = read(hostile)!;
	expect(result!.findings).toHaveLength(20);
	expect(Object.keys(result!.findings![0]!).sort()).toEqual([
		"events",
		"example",
		"kind",
		"message",
		"path",
		"type",
	]);
	expect(JSON.stringify(result).length).toBeLessThan(20_000);
	expect(
		read({ ...draft, trackingPlan: "x".repeat(262_145) }, "Draft"),
	).toBeUndefined();
});

test("a finding whose texts are no texts does no harm", () => {
	const findings = [{ ...finding, message: { toString: 1 }, path: [[]] }];
	expect(read({ ...dryRun, findings })?.dryRun?.findings).toHaveLength(1);
});
