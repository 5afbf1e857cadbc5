import { expect, test } from "vitest";
import { eventOfRow } from "./event-of-row.ts";
import type { ImportedRow } from "./row.ts";

const rules = {
	digest: Buffer.alloc(32, 7),
	keptFrom: "2026-03-01",
	nowMs: Date.parse("2026-03-20T12:00:00Z"),
};
const time = "2026-03-05T23:30:00.5+02:00";
const timeMs = Date.parse(time);
const own = `${timeMs
	.toString(16)
	.padStart(12, "0")
	.replace(/^(.{8})/, "$1-")}-7abc-8def-0123456789ab`;

function eventOf(row: Partial<ImportedRow>, changes: object = {}) {
	const whole = { row: 1, body: '{"a":1}', time, ...row };
	const event = eventOfRow(whole, { ...rules, ...changes });
	if ("fault" in event) throw new Error(event.fault);
	return event;
}

const idOf = (...of: Parameters<typeof eventOf>) =>
	eventOf(...of).id.toString("hex");

test("a row becomes an event of its time's UTC date, its body as it stands", () => {
	const headers = '{"x-a": "1"}';
	expect(eventOf({ body: ' {"a": 1.0} ', headers })).toMatchObject({
		timeMs,
		date: "2026-03-05",
		headers,
		body: Buffer.from(' {"a": 1.0} '),
	});
});

test("a form that was exported is a form again, unless it can't be one", () => {
	expect(eventOf({ isForm: true }).kind).toBe("form");
	expect(eventOf({}).kind).toBe("json");
	for (const body of ["[1]", '"a"', " 7", "null"])
		expect(eventOf({ isForm: true, body }).kind).toBe("json");
});

test("the same row of the same file has the same id, of version 7 with the row's time, and no other row has it", () => {
	const id = idOf({});
	expect(idOf({ body: "2", id: "of another tool" })).toBe(id);
	expect(id).toMatch(/^.{12}7.{3}[89ab]/);
	expect(Number.parseInt(id.slice(0, 12), 16)).toBe(timeMs);
	expect(idOf({ row: 2 })).not.toBe(id);
	expect(idOf({ reading: "Text" })).not.toBe(id);
	expect(idOf({}, { digest: Buffer.alloc(32, 8) })).not.toBe(id);
});

test("an id that Tidemill gave for that time is kept, and no other", () => {
	const hex = own.replaceAll("-", "");
	expect(idOf({ id: own })).toBe(hex);
	expect(idOf({ id: own, time: timeMs + 1 })).not.toContain(hex.slice(12));
	expect(idOf({ id: own.replace("-7abc", "-4abc") })).toBe(idOf({}));
});

test.each([
	["2026-03-05 21:30:00.5+00", "2026-03-05T21:30:00.500Z"],
	["2026-03-05t21:30:00z", "2026-03-05T21:30:00.000Z"],
	["2026-03-05 21:30:00-03", "2026-03-06T00:30:00.000Z"],
])("the time %s, as some tools write it, is %s", (time, expected) => {
	expect(new Date(eventOf({ time }).timeMs).toISOString()).toBe(expected);
});

test("a row without a time has that of the Import's date", () => {
	const date = "2026-03-09";
	const event = eventOf({ time: undefined }, { date });
	expect(event).toMatchObject({ timeMs: Date.parse(date), date });
});

test.each<[string, Partial<ImportedRow>, RegExp]>([
	["no body", { body: undefined }, /no body/],
	["no JSON", { body: "{" }, /not JSON/],
	["what its reader found", { fault: "too long" }, /too long/],
	["no time", { time: undefined }, /spec\.import\.date/],
	["a time without a zone", { time: "2026-03-05T00:00:00" }, /RFC 3339/],
	["a day that isn't there", { time: "2026-02-30T00:00:00Z" }, /RFC 3339/],
	[
		"a number for a time",
		{ time: undefined, otherTime: "timestamp is 17" },
		/timestamp is 17.*RFC 3339.*spec\.import\.date/,
	],
	["half of a pair", { body: '"\ud800"' }, /surrogate/],
	["a time before all", { time: -1 }, /too early/],
	["a time to come", { time: rules.nowMs + 1 }, /future/],
	[
		"a date that is gone",
		{ time: "2026-02-28T23:59:59Z" },
		/2026-02-28.*2026-03-01/,
	],
	["headers that are a list", { headers: '["a"]' }, /headers/],
	["half of a pair in a header", { headers: '{"a":"\\ud800"}' }, /headers/],
	["half of a pair in a name", { headers: '{"\\udfff":"a"}' }, /headers/],
	["headers that are numbers", { headers: '{"a":1}' }, /headers/],
	["a body that is too long", { body: `"${"x".repeat(9e6)}"` }, /more than/],
])("a row with %s is invalid", (_, row, fault) => {
	const whole = { row: 1, body: "1", time, ...row };
	expect(eventOfRow(whole, rules)).toEqual({
		fault: expect.stringMatching(fault),
	});
});
