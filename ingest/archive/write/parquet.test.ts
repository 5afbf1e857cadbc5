import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readArchivedRows } from "../../../test/support/examples/archived-rows.ts";
import { newEvent } from "../../../test/support/fixtures/data-plane/archive-fixture.ts";
import { temporaryDirectory } from "../../../test/support/servers/test-server.ts";
import { ParquetWriter } from "./parquet.ts";

let scratch: string;
let writer: ParquetWriter;
beforeAll(async () => {
	scratch = await temporaryDirectory("parquet");
	writer = await ParquetWriter.open(scratch);
});
afterAll(async () => {
	writer.close();
	await rm(scratch, { recursive: true });
});

/** More rows than one of DuckDB's vectors takes, and not a multiple of them. */
const count = 3_000;
const startMs = Date.UTC(2026, 10, 21, 23, 30);

test("files written one after the other, and at the same time, hold their own events", async () => {
	const bodies = Array.from({ length: 12 }, (_, file) => [
		`"${file} a"`,
		`"${file} b"`,
	]);
	const write = (texts: string[]) =>
		writer.write(texts.map((text) => newEvent(text)));
	// As many rows as a table takes.
	await write(Array(8_192).fill("0"));
	const files = [
		await write(bodies[0]!),
		await write(bodies[1]!),
		...(await Promise.all(bodies.slice(2).map(write))),
	];
	for (const [at, file] of files.entries()) {
		const rows = await readArchivedRows(Buffer.from(file));
		expect(rows.map(({ body }) => body).sort()).toEqual(bodies[at]);
	}
});

test("every event becomes one row with its own values, sorted by time and id", async () => {
	const events = Array.from({ length: count }, (_, index) => {
		const uuid = randomUUID();
		const isOdd = index % 2 === 1;
		return {
			uuid,
			event: newEvent(`{"index":${index},"text":"ü ☃ 🦀"}`, {
				id: Buffer.from(uuid.replaceAll("-", ""), "hex"),
				receivedAtMs: startMs + Math.floor(index / 10),
				...(isOdd && { kind: "form", headers: `{"i":"${index}"}` }),
				...(index % 3 === 0 && { violations: `[${index}]` }),
			}),
		};
	});
	const bytes = await writer.write(
		events.map(({ event }) => event).toReversed(),
	);
	const expected = events
		.toSorted(
			(a, b) =>
				a.event.receivedAtMs - b.event.receivedAtMs ||
				(a.uuid < b.uuid ? -1 : 1),
		)
		.map(({ uuid, event }) => ({
			event_id: uuid,
			timestamp: new Date(event.receivedAtMs).toISOString(),
			date: "2026-11-21",
			body: Buffer.from(event.body).toString(),
			kind: event.kind,
			headers: event.headers || null,
			violations: event.violations || null,
		}));
	expect(await readArchivedRows(Buffer.from(bytes))).toEqual(expected);
});
