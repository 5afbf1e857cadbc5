import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, onTestFinished, test } from "vitest";
import { bodyFormatIn, ndjsonLine, writeNdjson } from "./ndjson.ts";

test("a body stands in its line as a value, numbers and all, with spaces for line breaks between its tokens, or as its text", () => {
	const body = '{\r\n  "big": 12345678901234567890.10,\n  "text": "a\\nb"\n}';
	const line = ndjsonLine(["e1", "2026-03-01T00:00:00.000Z", body, null]);
	expect(line).toBe(
		'{"event_id":"e1","timestamp":"2026-03-01T00:00:00.000Z","bodyFormat":"json","body":{   "big": 12345678901234567890.10,   "text": "a\\nb" }}\n',
	);
	expect(JSON.parse(line).body.text).toBe("a\nb");
	const text = ndjsonLine(
		["e1", "2026-03-01T00:00:00.000Z", body, null],
		"text",
	);
	expect(JSON.parse(text)).toMatchObject({ bodyFormat: "text", body });
	const form = ndjsonLine(["e1", "t", body, null, "form"], "text");
	expect(JSON.parse(form)).toMatchObject({ kind: "form", body });
	expect([text, form, line].map(bodyFormatIn)).toEqual([
		"text",
		"text",
		"json",
	]);
});

test("each event of a Parquet file that is not erased is a line, with its time in UTC and its headers", async () => {
	const folder = await mkdtemp(join(tmpdir(), "ndjson-"));
	onTestFinished(() => rm(folder, { recursive: true }));
	const [parquet, file] = [join(folder, "a.parquet"), join(folder, "a.ndjson")];
	const instance = await DuckDBInstance.create();
	const connection = await instance.connect();
	await connection.run(
		`COPY (SELECT 'e' || i AS event_id, make_timestamptz(1772323200250000) AS timestamp, '[' || i || ']' AS body,
		CASE WHEN i > 0 THEN '{"x-a":"b"}' END AS headers,
		CASE WHEN i < 3000 THEN 'json' ELSE 'erased' END AS kind FROM range(3001) r(i)) TO '${parquet}' (FORMAT parquet)`,
	);
	connection.closeSync();
	await writeNdjson(parquet, file);
	const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
	expect(lines).toHaveLength(3_000);
	expect(lines.slice(0, 2).map((line) => JSON.parse(line))).toEqual([
		{
			event_id: "e0",
			timestamp: "2026-03-01T00:00:00.250Z",
			bodyFormat: "json",
			body: [0],
		},
		{
			event_id: "e1",
			timestamp: "2026-03-01T00:00:00.250Z",
			bodyFormat: "json",
			headers: { "x-a": "b" },
			body: [1],
		},
	]);
});
