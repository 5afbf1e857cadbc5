import { hash, randomBytes, randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { quoteText } from "../../../../packages/duckdb/quoting.ts";
import { Session } from "../../../../packages/duckdb/session.ts";
import { readArchivedRows } from "../../../../test/support/examples/archived-rows.ts";
import { newEvent } from "../../../../test/support/fixtures/data-plane/archive-fixture.ts";
import { temporaryDirectory } from "../../../../test/support/servers/test-server.ts";
import { ParquetRewriter } from "../../../lake/objects/parquet-rewriter.ts";
import { eventFile } from "./event-file.ts";

const { signal } = new AbortController();
let scratch: string;
let duckdb: Session;
beforeAll(async () => {
	scratch = await temporaryDirectory("parquet");
	duckdb = await Session.inMemory({}, signal);
});
afterAll(async () => {
	duckdb.close();
	await rm(scratch, { recursive: true });
});

async function stored(bytes: Uint8Array): Promise<string> {
	const file = join(scratch, `${randomUUID()}.parquet`);
	await writeFile(file, bytes);
	return file;
}

const startMs = Date.UTC(2026, 10, 21, 23, 30);

// One row, and more than a row group takes.
test.each([1, 8_200])(
	"each of %i events becomes one row with its own values, sorted by time and id",
	async (count) => {
		const events = Array.from({ length: count }, (_, index) => {
			const uuid = randomUUID();
			const isOdd = index % 2 === 1;
			return {
				uuid,
				event: newEvent(`{"index":${index},"text":"ü ☃ 🦀"}`, {
					id: Buffer.from(uuid.replaceAll("-", ""), "hex"),
					receivedAtMs: startMs + Math.floor(index / 10),
					...(isOdd && { kind: "form", headers: `{"i":"ü${index}"}` }),
					...(index % 3 === 1 && { violations: `[${index}]` }),
				}),
			};
		});
		const bytes = await eventFile(
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
	},
);

test("the same events give the same bytes, in whatever order they come", async () => {
	const events = ["1", "2", "3"].map((body, index) =>
		newEvent(body, { receivedAtMs: startMs + index }),
	);
	expect(await eventFile(events.toReversed())).toEqual(await eventFile(events));
});

test.each([
	// Random, so that each takes a while to compress.
	["large", 200, 8_000],
	// No page of such a file loses by compression.
	["tiny", 1, 3],
])(
	"%s files that are made at once are those that are made one after the other",
	async (_, count, bytes) => {
		const files = Array.from({ length: 3 }, (_, file) =>
			Array.from({ length: count }, (_, index) =>
				newEvent(`"${randomBytes(bytes).toString("base64")}"`, {
					receivedAtMs: startMs + file + index,
				}),
			),
		);
		const digest = (file: Uint8Array) => hash("sha256", file);
		const alone: string[] = [];
		for (const events of files) alone.push(digest(await eventFile(events)));
		const atOnce = await Promise.all(files.map(eventFile));
		expect(atOnce.map(digest)).toEqual(alone);
	},
);

test("an object has the columns and types of a compacted one", async () => {
	const file = await stored(
		await eventFile([
			newEvent("1", { headers: "{}", violations: "[]" }),
			newEvent("2"),
		]),
	);
	const rewriter = await ParquetRewriter.open(scratch, signal);
	try {
		const compacted = await rewriter.merge([file], 8_192);
		const columns = (of: string) =>
			duckdb.rows(
				`SELECT name, type, repetition_type, converted_type FROM parquet_schema(${quoteText(of)}) OFFSET 1`,
			);
		expect(await columns(file)).toEqual(await columns(compacted));
	} finally {
		await rewriter.close();
	}
});

test("a row group has at most 8,192 rows and little more than 4 MiB, and names the times that it holds", async () => {
	const mib = 1024 ** 2;
	const bodies = [
		...Array(10).fill(Buffer.alloc(mib, "1")),
		...Array(10_000).fill(Buffer.from("1")),
	];
	const file = await stored(
		await eventFile(
			bodies.map((body, index) => ({
				...newEvent("", { receivedAtMs: startMs + index }),
				body,
			})),
		),
	);
	const groups = await duckdb.rows<{ rows: bigint; bytes: bigint }>(
		`SELECT max(row_group_num_rows) AS rows, sum(total_uncompressed_size)::BIGINT AS bytes FROM parquet_metadata(${quoteText(file)}) GROUP BY row_group_id`,
	);
	expect(groups.reduce((sum, { rows }) => sum + rows, 0n)).toBe(10_010n);
	for (const { rows, bytes } of groups) {
		expect(rows).toBeLessThanOrEqual(8_192n);
		expect(bytes).toBeLessThan(5 * mib);
	}
	const times = await duckdb.rows<{ min: string; max: string }>(
		`SELECT stats_min_value AS min, stats_max_value AS max FROM parquet_metadata(${quoteText(file)}) WHERE path_in_schema = 'timestamp' ORDER BY row_group_id`,
	);
	expect(times[0]?.min).toBe("2026-11-21 23:30:00+00");
	expect(times.at(-1)?.max).toBe("2026-11-21 23:30:10.009+00");
});
