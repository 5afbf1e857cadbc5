import { expect, test } from "vitest";
import { maxReportBytes } from "../../packages/contracts/manifest.ts";
import type { Violation } from "../../packages/contracts/tracking-plan.ts";
import { EventInspection } from "./inspection.ts";
import type { EventRow } from "./stored-events.ts";

const violation = (
	kind: Violation["kind"],
	message = "must be a number",
): Violation => ({ kind, path: "/total", message });

const event = (
	id: string,
	type = "paid",
	...violations: Violation[]
): EventRow => ({
	id,
	body: '{"card":"4111"}',
	headers: {},
	timestampMs: Date.parse("2026-03-01T00:00:00Z"),
	validation: { plan: "orders", version: "1f", type, violations },
});

function inspect(
	events: EventRow[],
	question: Partial<ConstructorParameters<typeof EventInspection>[0]> = {},
) {
	const inspection = new EventInspection({
		type: "Inspect",
		filter: {},
		limit: 2,
		...question,
	});
	for (const each of events) inspection.take(each);
	return inspection.result;
}

const idsOf = ({ page }: ReturnType<typeof inspect>) =>
	page.map(({ eventID }) => eventID);

test("pages go from the newest event to the oldest, whatever the order of the objects", () => {
	const events = ["3", "1", "7", "5", "6", "2", "4"].map((id) => event(id));
	const pages = [inspect(events)];
	while (pages.at(-1)!.hasMore && pages.length < 9)
		pages.push(inspect(events, { before: idsOf(pages.at(-1)!).at(-1)! }));
	expect(pages.map(idsOf)).toEqual([["7", "6"], ["5", "4"], ["3", "2"], ["1"]]);
	expect(pages.map(({ events }) => events)).toEqual([7, 7, 7, 7]);
});

test("an event is listed with what validated it, and never with its body", () => {
	const kinds = ["TypeMismatch", "OutOfRange"] as const;
	const many = Array.from({ length: 7 }, (_, index) =>
		violation(kinds[index % 2]!),
	);
	const { page } = inspect([event("1", "paid", ...many)]);
	expect(page).toEqual([
		{
			eventID: "1",
			timestamp: "2026-03-01T00:00:00.000Z",
			type: "paid",
			plan: "orders",
			planVersion: "1f",
			violations: many.slice(0, 5),
			otherViolations: 2,
		},
	]);
	expect(JSON.stringify(page)).not.toContain("4111");
});

test.each([
	[{ types: ["paid"] }, ["2", "1"]],
	[{ kinds: ["OutOfRange" as const] }, ["3", "2"]],
	[{ types: ["paid"], kinds: ["OutOfRange" as const] }, ["2"]],
	[{ eventIDs: ["1", "9"] }, ["1"]],
])("the filter %j", (filter, ids) => {
	const found = inspect(
		[
			event("1", "paid", violation("TypeMismatch")),
			event("2", "paid", violation("OutOfRange")),
			event("3", "gone", violation("OutOfRange")),
		],
		{ filter },
	);
	expect(idsOf(found)).toEqual(ids);
	expect(found.events).toBe(ids.length);
});

test("a page has no more than the report has room for, and says that there are more", () => {
	const wide = Array.from({ length: 5 }, () =>
		violation("TypeMismatch", "字".repeat(200)),
	);
	const ids = Array.from({ length: 100 }, (_, index) => `${1_000 + index}`);
	const result = inspect(
		ids.map((id) => event(id, "字".repeat(200), ...wide)),
		{ limit: 100 },
	);
	expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(
		maxReportBytes,
	);
	expect(result.page.length).toBeGreaterThan(50);
	expect(result).toMatchObject({ events: 100, hasMore: true });
});
