import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { passingDirectory } from "../../../test/support/faults/passing-directory.ts";
import { ndjsonRows } from "./ndjson-rows.ts";

async function rowsOf(content: string | Buffer) {
	const file = join(await passingDirectory("rows"), "a.ndjson");
	await writeFile(file, content);
	return Array.fromAsync(ndjsonRows(file));
}

test("a line as an Export writes it is an event with its id, time, headers and body", async () => {
	const line =
		'{"event_id":"i","timestamp":"2026-03-01T00:00:00Z","headers":{"a": "b"},"body":{"n": 1.0}}';
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
		{ row: 4, body: '{"time": 5}', time: undefined },
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
