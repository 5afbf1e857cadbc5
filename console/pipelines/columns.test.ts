import { expect, test } from "vitest";
import { previewTable, suggestedColumns } from "./columns.ts";
import { newPipeline, withBodyColumns } from "./form.ts";

const bodies = [
	'{"id": 9007199254740993, "total": {"amount": 19.90, "currency": "EUR"}, "at": "2026-03-01T12:00:00Z", "day": "2026-03-01", "tags": ["a"], "isPaid": true}',
	'{"id": 2, "total": {"amount": 20}, "note": null, "header_x": "y", "Event ID": "e", "a/b": 1}',
	"not JSON",
	"[1]",
];

test("columns are suggested with a type that all recent values fit, and a name that the table may have", () => {
	const found = suggestedColumns(bodies).map(({ column, events, example }) => [
		column.name,
		column.bodyPointer,
		column.type,
		events,
		example,
	]);
	expect(found).toEqual([
		["id", "/id", "Integer", 2, "9007199254740993"],
		["total_amount", "/total/amount", "Number", 2, "19.90"],
		["total_currency", "/total/currency", "String", 1, "EUR"],
		["at", "/at", "Timestamp", 1, "2026-03-01T12:00:00Z"],
		["day", "/day", "Date", 1, "2026-03-01"],
		["tags", "/tags", "JSON", 1, '["a"]'],
		["is_paid", "/isPaid", "Boolean", 1, "true"],
		["note", "/note", "String", 1, ""],
		["body_header_x", "/header_x", "String", 1, "y"],
		["event_id_2", "/Event ID", "String", 1, "e"],
		["a_b", "/a~1b", "Integer", 1, "1"],
	]);
	for (const [name] of found) expect(name).toMatch(/^[a-z][a-z0-9_]{0,62}$/);
});

test("a body with ten thousand properties, and one that is too deep, suggest a hundred columns at most", () => {
	const wide = JSON.stringify(
		Object.fromEntries(
			Array.from({ length: 10_000 }, (_, at) => [`k${at}`, at]),
		),
	);
	expect(suggestedColumns([wide, "[".repeat(1e6)])).toHaveLength(100);
});

test("the preview has the values of recent events, NULL where one is missing, and says which don't fit", () => {
	const draft = withBodyColumns(newPipeline(), [
		{ name: "id", bodyPointer: "/id", type: "Integer" },
		{ name: "amount", bodyPointer: "/total/amount", type: "Decimal" },
		{ name: "at", bodyPointer: "/at", type: "Timestamp" },
		{ name: "tag", bodyPointer: "/tags/0", type: "Boolean" },
		{ name: "planned", bodyPointer: "/total/currency" },
	]);
	const { columns, rows } = previewTable(draft, [
		{ eventId: "e1", time: "2026-03-01T23:59:59.9Z", body: bodies[0]! },
		{ eventId: "e2", time: "2026-03-02T00:00:00Z" },
	]);
	expect(columns.map(({ name }) => name)).toEqual([
		...["event_id", "timestamp", "body", "date"],
		...["id", "amount", "at", "tag", "planned"],
	]);
	expect(rows[0]).toEqual([
		{ text: "e1" },
		{ text: "2026-03-01T23:59:59.9Z" },
		{ text: bodies[0] },
		{ text: "2026-03-01" },
		{ text: "9007199254740993" },
		{ text: "19.90" },
		{ text: "2026-03-01T12:00:00Z" },
		{ text: undefined, isUnfit: true },
		{ text: "EUR" },
	]);
	expect(rows[1]!.slice(4).every(({ text }) => text === undefined)).toBe(true);
});
