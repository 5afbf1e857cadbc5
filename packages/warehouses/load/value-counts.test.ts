import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TableColumn } from "../../contracts/job.ts";
import { quoteText } from "../../duckdb/quoting.ts";
import { Session } from "../../duckdb/session.ts";
import type { LoadDay } from "./load-day.ts";
import { largestValues } from "./value-counts.ts";

let directory: string;
let session: Session;
beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "largest-"));
	session = await Session.inMemory({}, new AbortController().signal);
});
afterAll(async () => {
	session.close();
	await rm(directory, { recursive: true });
});

const columns: TableColumn[] = [
	{ name: "event_id", from: "EventID" },
	{ name: "body", from: "Body" },
	{ name: "a", from: { bodyPointer: "/a", type: "String" } },
	{ name: "b", from: { bodyPointer: "/b", type: "Integer" } },
];

async function dayOf(...bodies: string[]): Promise<LoadDay> {
	const file = join(directory, "day.parquet");
	const rows = bodies.map((body, n) => `('e${n}', ${quoteText(body)}, 'json')`);
	await session.run(
		`COPY (SELECT * FROM (VALUES ${rows.join(", ")}) AS t(event_id, body, kind)) TO ${quoteText(file)} (FORMAT parquet)`,
	);
	const object = { key: "k", url: "", bytes: 0, rows: bodies.length, file };
	const count = bodies.length;
	return { date: "2026-03-01", rows: count, objects: [object], steps: [] };
}

test("the largest row and value are told by event, column and bytes of UTF-8", async () => {
	const large = JSON.stringify({ a: "ä".repeat(300), b: "x" });
	const day = await dayOf('{"a":"x"}', large, '{"b":12345}');
	const bytes = Buffer.byteLength(large);
	expect(await largestValues([day], columns, session)).toBe(
		`The largest row has ${bytes + 602} bytes as text, that of event e1. The largest value has ${bytes} bytes, in column "body" of event e1.`,
	);
	expect(await largestValues([day], columns, session, ["a", "b"])).toBe(
		'The largest value has 600 bytes, in column "a" of event e1.',
	);
	expect(await largestValues([day], columns, session, ["b"])).toBe(
		'The largest value has 5 bytes, in column "b" of event e2.',
	);
	expect(await largestValues([day], columns, session, ["none"])).toBe("");
});
