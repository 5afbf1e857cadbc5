import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { passingDirectory } from "../../../test/support/faults/passing-directory.ts";
import { ndjsonRows } from "./ndjson-rows.ts";
import type { RowForm } from "./row.ts";

async function rowsOf(content: string | Buffer, form?: RowForm) {
	const file = join(await passingDirectory("rows"), "a.ndjson");
	await writeFile(file, content);
	return Array.fromAsync(ndjsonRows(file, form));
}

test("a line as an Export writes it is an event with its id, time, headers and body", async () => {
	const line =
		'{"event_id":"i","timestamp":"2026-03-01T00:00:00Z","bodyFormat":"json","headers":{"a": "b"},"body":{"n": 1.0}}';
	expect(await rowsOf(`${line}\n`)).toEqual([
		{
			row: 1,
			id: "i",
			time: "2026-03-01T00:00:00Z",
			headers: '{"a": "b"}',
			body: '{"n": 1.0}',
		},
	]);
});

test("any other line is a body with its own time, and empty lines count as rows only", async () => {
	expect(
		await rowsOf('{"n": 1, "received_at": "t"}\r\n\n[1]\n{"time": 5}'),
	).toEqual([
		{ row: 1, body: '{"n": 1, "received_at": "t"}', time: "t" },
		{ row: 3, body: "[1]", time: undefined },
		{
			row: 4,
			body: '{"time": 5}',
			time: undefined,
			otherTime: "time is 5",
		},
	]);
});

test("a line that is no UTF-8 is invalid, and no character is replaced", async () => {
	const line = Buffer.from('{"a": "\xff"}', "latin1");
	const rows = await rowsOf(Buffer.concat([line, Buffer.from("\n1\n")]));
	expect(rows).toEqual([
		{ row: 1, fault: "the line is not UTF-8" },
		{ row: 2, body: "1", time: undefined },
	]);
});

test("a line that is no JSON, or too long, is invalid, and the next ones are read", async () => {
	const long = Buffer.alloc(9 * 1024 ** 2, "x");
	const rows = await rowsOf(
		Buffer.concat([Buffer.from("{\n"), long, Buffer.from("\n1\n")]),
	);
	expect(rows).toEqual([
		{ row: 1, fault: "the line is not JSON" },
		{ row: 2, fault: expect.stringContaining("more than") },
		{ row: 3, body: "1", time: undefined },
	]);
});

const event = '{"event_id":"e","body":[1]}';
const text = String.raw`{"body":"{\"a\": 1.10}"}`;
const undecided = (option: string) => ({
	undecided: { choices: [[option, expect.any(String)], expect.anything()] },
});
const rowsNeeded = undecided("--rows events");
const bodyNeeded = undecided("--body text");

test.each<[string, RowForm, object]>([
	['{"body":[1]}', {}, { body: "[1]" }],
	['{"body":[1]}', { rows: "Bodies" }, { body: '{"body":[1]}' }],
	[event, {}, rowsNeeded],
	['{"time":"t","body":"hello"}', {}, rowsNeeded],
	[event, { rows: "Events" }, { id: "e", body: "[1]" }],
	[event, { rows: "Bodies" }, { body: event }],
	[event, { body: "JSON" }, { id: "e", body: "[1]" }],
	// Another system's member of the name says nothing.
	['{"bodyFormat":"text","body":"[1]"}', {}, rowsNeeded],
	['{"event_id":"e","bodyFormat":"html","body":"[1]"}', {}, rowsNeeded],
	[text, {}, bodyNeeded],
	[text, { rows: "Events" }, bodyNeeded],
	['{"body":" 1"}', {}, bodyNeeded],
	[text, { body: "Text" }, { body: '{"a": 1.10}' }],
	[text, { body: "JSON" }, { body: String.raw`"{\"a\": 1.10}"` }],
	[text, { rows: "Bodies" }, { body: text }],
	['{"body":"hello"}', {}, { body: '"hello"' }],
	['{"body":[1]}', { body: "Text" }, { fault: /no text/ }],
	['{"body":null}', { body: "Text" }, { fault: /no text/ }],
	['{"n":1}', { rows: "Events" }, { fault: /no member body/ }],
	['{"n":1}', { body: "Text" }, { fault: /no member body/ }],
	["[1]", { rows: "Events" }, { fault: /no member body/ }],
	["[1]", { rows: "Bodies" }, { body: "[1]" }],
	// What an Export writes says it itself, whatever is said of other rows.
	[
		String.raw`{"event_id":"e","bodyFormat":"text","headers":{"a":"b"},"body":"{\n}"}`,
		{ body: "JSON" },
		{ id: "e", headers: '{"a":"b"}', body: "{\n}" },
	],
	[
		'{"event_id":"e","bodyFormat":"json","body":"[1]"}',
		{ body: "Text" },
		{ id: "e", body: '"[1]"' },
	],
	// A row of `tidemill sql` has JSON as text everywhere.
	[
		String.raw`{"event_id":"e","headers":"{\"a\":\"b\"}","body":"[1]"}`,
		{ body: "Text" },
		{ headers: '{"a":"b"}', body: "[1]" },
	],
	['{"time":7,"n":1}', {}, { time: undefined, otherTime: "time is 7" }],
	['{"time":null,"timestamp":[1]}', {}, { otherTime: "timestamp is [1]" }],
	['{"time":7,"received_at":"t"}', {}, { time: "t" }],
])("the line %s, with %j, is %j", async (line, form, expected) => {
	const { fault, ...others } = expected as { fault?: RegExp };
	const [row] = await rowsOf(`\uFEFF${line}`, form);
	expect(row).toMatchObject({
		...others,
		...(fault && { fault: expect.stringMatching(fault) }),
	});
	if (!("otherTime" in others)) expect(row).not.toHaveProperty("otherTime");
});

test("an exported line says that its event was a form, and no other line does", async () => {
	const line = (kind: string) =>
		`{"event_id":"e1","timestamp":"2026-03-01T00:00:00.000Z","bodyFormat":"json"${kind},"body":{"a":""}}\n`;
	const lines = ["form", "json", "erased"].map((kind) =>
		line(`,"kind":"${kind}"`),
	);
	const other = '{"event_id":"e1","kind":"form","body":{"a":""}}\n';
	const rows = await rowsOf([...lines, line("")].join(""));
	expect(rows.map(({ isForm = false }) => isForm)).toEqual([
		...[true, false],
		...[false, false],
	]);
	const [row] = await rowsOf(other, { rows: "Events" });
	expect(row).not.toHaveProperty("isForm");
});
