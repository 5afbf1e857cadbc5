import { expect, test } from "vitest";
import { signature } from "../support/doubles/object-server.ts";
import {
	githubPayloads,
	oddities,
	serialisations,
} from "../support/examples/github-payloads.ts";
import {
	columns,
	eventsOf,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";

test("the first load creates a typed table, and a repeat leaves it the same", async () => {
	const { manifest, load, rows } = await loadFixture();
	const march = await manifest({
		"2026-03-01": [
			eventsOf("2026-03-01", 3, "a"),
			eventsOf("2026-03-01", 2, "b"),
		],
		"2026-03-02": [],
		"2026-03-03": [eventsOf("2026-03-03", 4, "a")],
	});
	const first = await load(march);
	expect(first.exitCode, first.log).toBe(0);
	expect(first.result).toEqual({
		version: 1,
		outcome: "Succeeded",
		rows: 9,
		bytes: march.dates
			.flatMap(({ objects }) => objects)
			.reduce((sum, { bytes }) => sum + bytes, 0),
		objects: 3,
		dates: { start: "2026-03-01", end: "2026-03-03" },
		// Whole lines, the last ones: they outlive the Pod.
		log: expect.stringMatching(/"msg":"load succeeded"[^\n]*\n$/),
	});
	expect(
		await rows("select column_name, column_type from (describe orders)"),
	).toEqual([
		["event_id", "VARCHAR"],
		["timestamp", "TIMESTAMP WITH TIME ZONE"],
		["body", "VARCHAR"],
		["date", "DATE"],
	]);
	expect(
		await rows(
			"select split_part(comment, chr(10), 1) from duckdb_tables() where table_name = 'orders'",
		),
	).toEqual([["Events of shop"]]);
	const table = await rows("select * from orders order by all");
	expect(table).toHaveLength(9);
	expect(table[0]?.slice(2)).toEqual(['{"tag":"a","index":0}', "2026-03-01"]);
	expect((await load(march)).exitCode).toBe(0);
	expect(await rows("select * from orders order by all")).toEqual(table);
});

test("timestamps are the instants of receipt, to the millisecond", async () => {
	const { manifest, load, rows } = await loadFixture();
	const timestampMs = Date.UTC(2026, 2, 1, 23, 59, 59, 999);
	await load(
		await manifest({
			"2026-03-01": [[{ event_id: "x", timestampMs, body: "1" }]],
		}),
		{ env: { TZ: "Asia/Tokyo" } },
	);
	expect(
		await rows("select epoch_ms(timestamp)::text, date::text from orders"),
	).toEqual([[String(timestampMs), "2026-03-01"]]);
});

test("captured headers are columns; a header captured later is NULL for older days", async () => {
	const { manifest, load, rows } = await loadFixture();
	const captured = (header: string) => ({
		name: `header_${header.replaceAll("-", "_")}`,
		from: { header },
	});
	const event = (date: string, headers?: Record<string, string>) => [
		eventsOf(date, 1, "h").map((one) => ({
			...one,
			...(headers && { headers }),
		})),
	];
	const table = (...headers: string[]) => ({
		input: {
			table: {
				name: "orders",
				description: "",
				columns: [...columns, ...headers.map(captured)],
			},
		},
	});
	await load(
		await manifest({ "2026-03-01": event("2026-03-01", { "x-a": 'ü"1"' }) }),
		table("x-a"),
	);
	const second = await load(
		await manifest({
			"2026-03-02": event("2026-03-02", { "x-b.c*": "2" }),
			"2026-03-03": event("2026-03-03"),
		}),
		table("x-a", "x-b.c*"),
	);
	expect(second.exitCode, second.log).toBe(0);
	expect(
		await rows('select header_x_a, "header_x_b.c*" from orders order by date'),
	).toEqual([
		['ü"1"', null],
		[null, "2"],
		[null, null],
	]);
});

test("each body is in the table byte for byte, whatever its formatting", async () => {
	const { manifest, load, rows } = await loadFixture();
	const bodies = [
		...githubPayloads().flatMap(({ value }, index) => {
			const ways = Object.values(serialisations);
			return ways[index % ways.length]!(value);
		}),
		...Object.values(serialisations).map((write) => write(oddities)),
		'  "just text"  ',
		"null",
		'{"a":1,"a":2}',
	];
	expect(bodies).toHaveLength(329 + 8);
	const events = bodies.map((body, index) => ({
		event_id: String(index).padStart(4, "0"),
		timestampMs: Date.UTC(2026, 2, 1) + index,
		body,
	}));
	const { exitCode, log } = await load(
		await manifest({
			"2026-03-01": [events.slice(0, 100), events.slice(100)],
		}),
	);
	expect(exitCode, log).toBe(0);
	const hexOf = (body: string) => Buffer.from(body).toString("hex");
	expect(
		await rows(
			"select event_id, lower(hex(encode(body))) from orders order by event_id",
		),
	).toEqual(events.map(({ event_id, body }) => [event_id, hexOf(body)]));
});

test("no log line or error contains a presigned link", async () => {
	const { manifest, load, store } = await loadFixture();
	const days = await manifest({
		"2026-03-01": [eventsOf("2026-03-01", 1, "a")],
	});
	const gone = {
		...days.dates[0]!.objects[0]!,
		url: store.put("x", "").replace("/x?", "/gone?"),
	};
	for (const objects of [days.dates[0]!.objects, [gone]]) {
		const { log, result } = await load(
			{ ...days, dates: [{ ...days.dates[0]!, objects }] },
			{ env: { LOG_LEVEL: "trace" } },
		);
		expect(log).not.toContain(signature);
		expect(JSON.stringify(result)).not.toContain(signature);
	}
});
