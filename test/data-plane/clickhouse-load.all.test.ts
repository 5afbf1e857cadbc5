// On a laptop nothing proves this: it is ClickHouse's alone, and `make test` loads DuckDB and Postgres.
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
	afterAll,
	beforeAll,
	describe,
	expect,
	onTestFinished,
	test,
	vi,
} from "vitest";
import { eventFile } from "../../ingest/archive/write/parquet/event-file.ts";
import type {
	BodyValueType,
	LoadInput,
	TableColumn,
} from "../../packages/contracts/job.ts";
import type {
	Manifest,
	ManifestErasure,
} from "../../packages/contracts/manifest.ts";
import { startOfDate } from "../../packages/contracts/utc-date.ts";
import { stagingPrefixOf } from "../../packages/warehouses/clickhouse/load/statements.ts";
import { withDuckDB } from "../support/duckdb.ts";
import { newEvent } from "../support/fixtures/data-plane/archive-fixture.ts";
import { clickHouseFixture } from "../support/fixtures/data-plane/clickhouse-fixture.ts";
import {
	columns,
	eventsOf,
} from "../support/fixtures/data-plane/load-fixture.ts";
import {
	type ClickHouseServer,
	startClickHouse,
} from "../support/servers/clickhouse/server.ts";
import { hasPython } from "../support/servers/python.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/*
 * What only ClickHouse's engine can show of a load. What holds of every type of warehouse is in the conformance suite. Without
 * Python 3 there is no engine to test with.
 */

const isHere = await hasPython();
let server: ClickHouseServer;
beforeAll(async () => {
	if (isHere) server = await startClickHouse();
});
afterAll(() => server?.stop());

const [day, other] = ["2026-03-01", "2026-03-02"];
const perDate =
	"SELECT date, toInt32(count()), toInt32(uniqExact(event_id)) FROM orders GROUP BY date ORDER BY date";
const fullReload: Partial<LoadInput> = {
	strategy: "FullReload",
	table: {
		name: "orders",
		columns: columns.filter(({ from }) => from !== "Date"),
		description: "Events of shop",
	},
};

async function sceneOf(on = server) {
	const fixture = await clickHouseFixture(on);
	const loaded = async (manifest: Manifest, input: Partial<LoadInput> = {}) => {
		const end = await fixture.load(manifest, input);
		expect(end.exitCode, end.log).toBe(0);
		return end.result as unknown as Record<string, unknown>;
	};
	const twoDays = (tag: string) =>
		fixture.manifest({
			[day]: [eventsOf(day, 3, tag)],
			[other]: [eventsOf(other, 2, tag)],
		});
	/** A Run of another table, and the erasure of an event of `orders`, which none loads any more. */
	const erasing = async () => {
		await loaded(await twoDays("a"));
		const [[id]] = (await fixture.rows(
			`SELECT event_id FROM orders WHERE date = '${day}' LIMIT 1`,
		)) as [[string]];
		const erasure = { mode: "RemoveRow", before: other, eventIDs: [id] };
		return {
			run: {
				...(await twoDays("b")),
				erasures: { asked: 1, others: [erasure as ManifestErasure] },
			},
			input: { table: { name: "orders_new", columns, description: "" } },
		};
	};
	return { ...fixture, loaded, twoDays, erasing };
}

describe.skipIf(!isHere)("ClickHouse", () => {
	test("a part that somebody has detached is named by an Erase, which no statement finds", async () => {
		const { erasing, loaded, rows } = await sceneOf();
		const { run, input } = await erasing();
		await rows(`ALTER TABLE orders DETACH PARTITION '${day}'`);
		const { warning } = await loaded(run, input);
		expect(warning).toMatch(
			/^What was detached from table orders can't be erased: \S+\. Drop it, or attach it and erase again\.$/,
		);
	});

	test.each([
		["deleted, all of the day", `ALTER TABLE orders DROP PARTITION '${day}'`],
		[
			"doubled",
			`INSERT INTO orders SELECT * FROM orders WHERE date = '${day}' LIMIT 1`,
		],
	])(
		"rows that somebody %s are found, said and loaded again",
		async (_, sql) => {
			const { twoDays, loaded, rows } = await sceneOf();
			const first = await twoDays("a");
			await loaded(first);
			const before = await rows("SELECT * FROM orders ORDER BY event_id");
			await rows(sql);
			expect(await rows("SELECT * FROM orders ORDER BY event_id")).not.toEqual(
				before,
			);
			expect(
				await loaded({ ...first, run: "repair" }, { adds: true }),
			).toMatchObject({ repairedDates: [day] });
			expect(await rows("SELECT * FROM orders ORDER BY event_id")).toEqual(
				before,
			);
			expect(
				await loaded({ ...first, run: "after" }, { adds: true }),
			).toMatchObject({ unchangedDates: 2 });
		},
	);

	test("the first Run, killed after any of its statements, leaves no table or all of it; its repeat ends it and leaves no table but its own and the record", async () => {
		const { twoDays, load, loaded, rows, tables, proxy } = await sceneOf();
		const look = async () =>
			(await tables()).includes("orders")
				? rows(
						"SELECT toInt32(count()), toInt32(uniqExact(event_id)) FROM orders",
					)
				: "no table";
		const whole = [[5, 5]];
		for (let index = 0, isCut = true; isCut; index++) {
			await rows("DROP TABLE IF EXISTS orders SYNC");
			const days = await twoDays(`n${index}`);
			proxy.cutAt(index, true);
			const end = await load(days);
			isCut = proxy.changes.length > index;
			proxy.cutAt(undefined);
			expect(["no table", whole]).toContainEqual(await look());
			if (end.exitCode !== 0) {
				expect(end.result).toMatchObject({
					error: { code: "ClickHouseUnavailable", retryable: true },
				});
				const again = await loaded(days);
				expect(again.repairedDates).toBeUndefined();
			} else expect(index).toBeGreaterThan(5);
			expect(await look()).toEqual(whole);
		}
		expect(await tables()).toEqual(["_tidemill-loads", "orders"]);
	});

	test("an Erase drops the staging table that a killed load left for a table that no Run loads any more", async () => {
		const { twoDays, loaded, rows, tables, database } = await sceneOf();
		const table = { name: "orders_new", columns, description: "" };
		await loaded(await twoDays("a"));
		const left = `${stagingPrefixOf("orders")}left`;
		await rows(`CREATE TABLE ${database}.\`${left}\` AS orders`);
		await loaded(await twoDays("b"), { table });
		expect(await tables()).toContain(left);
		const erasure = { mode: "RemoveRow", before: day, eventIDs: ["a"] };
		await loaded(
			{
				...(await twoDays("c")),
				erasures: { asked: 1, others: [erasure as ManifestErasure] },
			},
			{ table },
		);
		expect(await tables()).not.toContain(left);
	});

	test("an Erase whose change takes long leaves no connection silent, and ends when the table has changed", async () => {
		const { erasing, load, rows, proxy } = await sceneOf();
		const { run, input } = await erasing();
		let isSilent = false;
		const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
		proxy.onStatement = async (statement) => {
			if (/system\.mutations/.test(statement)) ask();
			isSilent ||= /mutations_sync = [12]/.test(statement);
		};
		// No mutation begins, as none does while the server has too much else to do.
		await rows("SYSTEM STOP MERGES orders");
		let isOver = false;
		const erased = load(run, input).then((end) => {
			isOver = true;
			return end;
		});
		await Promise.race([asked, erased]);
		await delay(500);
		expect([isOver, isSilent]).toEqual([false, false]);
		await rows("SYSTEM START MERGES orders");
		const { exitCode, log } = await erased;
		expect(exitCode, log).toBe(0);
		expect(await rows(perDate)).toEqual([
			[day, 2, 2],
			[other, 2, 2],
		]);
	});

	test("an Erase changes rows for a user who may not read about mutations, too", async () => {
		const strict = await startClickHouse({ deny: "system.mutations" });
		onTestFinished(() => strict.stop());
		const { erasing, loaded, rows } = await sceneOf(strict);
		const { run, input } = await erasing();
		await loaded(run, input);
		expect(await rows(perDate)).toEqual([
			[day, 2, 2],
			[other, 2, 2],
		]);
	});

	test("each event of objects of other writers is a row, too, and those of archive and of DuckDB come by one INSERT", async () => {
		const { manifest, loaded, rows, proxy, store } = await sceneOf();
		const before = await manifest({
			[day]: [eventsOf(day, 3, "a"), eventsOf(day, 2, "b")],
		});
		const [date] = before.dates;
		const ids = [randomUUID(), randomUUID()];
		const ownFile = await eventFile(
			ids.map((id) =>
				newEvent(`{"tag":"ü"}`, {
					id: Buffer.from(id.replaceAll("-", ""), "hex"),
					receivedAtMs: startOfDate(day) + 1,
				}),
			),
		);
		const withObject = (bytes: Uint8Array): Manifest => {
			const key = `${randomUUID()}.parquet`;
			const url = store.put(key, Buffer.from(bytes));
			const object = { key, url, rows: 2, bytes: bytes.length };
			const objects = [...date!.objects, object];
			return { ...before, dates: [{ ...date!, rows: 7, objects }] };
		};
		const found = () =>
			rows(
				"SELECT event_id, toString(timestamp), body, date FROM orders WHERE JSONExtractString(body, 'tag') = 'ü' ORDER BY event_id",
			);
		const expected = ids
			.toSorted()
			.map((id) => [id, `${day} 00:00:00.001000`, `{"tag":"ü"}`, day]);
		const inserts = () =>
			proxy.changes.filter((sql) => sql.endsWith("FORMAT Parquet")).length;
		proxy.cutAt(undefined);
		await loaded(withObject(ownFile));
		expect(await found()).toEqual(expected);
		expect(await rows(perDate)).toEqual([[day, 7, 7]]);
		expect(inserts()).toBe(1);
		// As no writer of ours has made it: what the server would do with an id that isn't text is its own matter.
		const file = join(await temporaryDirectory("objects"), "uuid.parquet");
		await writeFile(file, ownFile);
		const other = `${file}.other`;
		await withDuckDB((connection) =>
			connection.run(
				`COPY (SELECT * REPLACE (event_id::UUID AS event_id) FROM '${file}') TO '${other}' (FORMAT parquet)`,
			),
		);
		await rows("TRUNCATE TABLE orders");
		proxy.cutAt(undefined);
		await loaded({ ...withObject(await readFile(other)), run: "2" });
		expect(await found()).toEqual(expected);
		expect(await rows(perDate)).toEqual([[day, 7, 7]]);
		expect(inserts()).toBe(1);
	});

	test("rows that are written anew come by INSERTs of bounded size, too", async () => {
		const { manifest, loaded, rows, proxy } = await sceneOf();
		const tag: TableColumn = {
			name: "tag",
			from: { bodyPointer: "/tag", type: "String" },
		};
		// Noise, of which compression leaves three quarters, in objects of 4 MB.
		const objects = Array.from({ length: 20 }, (_, index) =>
			eventsOf(day, 1_000, String(index)).map((event) => ({
				...event,
				body: JSON.stringify({ tag: randomBytes(3_072).toString("base64") }),
			})),
		);
		proxy.cutAt(undefined);
		await loaded(await manifest({ [day]: objects }), {
			table: { name: "orders", columns: [...columns, tag], description: "" },
		});
		const inserts = proxy.changes.filter((sql) => sql.endsWith("Parquet"));
		expect(inserts.length).toBeGreaterThan(1);
		expect(
			await rows(
				"SELECT toInt32(count()), toInt32(uniqExact(event_id)), toInt32(min(length(tag))) FROM orders",
			),
		).toEqual([[20_000, 20_000, 4_096]]);
	});

	test.each([
		["with groups of many rows, as compaction makes them", 7_500, 3_072],
		["with bodies of 130 kB", 250, 96_000],
	])(
		"objects of 30 MB %s don't need more memory than a Job has",
		async (_, count, bytes) => {
			const { manifest, loaded, rows } = await sceneOf();
			const tag: TableColumn = {
				name: "tag",
				from: { bodyPointer: "/tag", type: "String" },
			};
			const objects = ["a", "b", "c"].map((name) =>
				eventsOf(day, count, name).map((event) => ({
					...event,
					body: JSON.stringify({ tag: randomBytes(bytes).toString("base64") }),
				})),
			);
			await loaded(await manifest({ [day]: objects }), {
				table: { name: "orders", columns: [...columns, tag], description: "" },
			});
			expect(
				await rows(
					"SELECT toInt32(count()), toInt32(uniqExact(event_id)), toInt32(countIf(tag = JSONExtractString(body, 'tag'))) FROM orders",
				),
			).toEqual([[3 * count, 3 * count, 3 * count]]);
		},
	);

	test("the first day's objects are asked for before the server has answered anything", async () => {
		const { twoDays, load, loaded, rows, proxy, store } = await sceneOf();
		const days = await twoDays("a");
		const [first, second] = days.dates.map(({ objects }) => objects[0]!.key);
		store.requests.length = 0;
		let asked: string[] | undefined;
		proxy.onStatement = async () => {
			if (asked) return;
			asked = [];
			await vi.waitFor(() => expect(store.requests).toContain(first));
			asked = [...store.requests];
		};
		await loaded(days);
		expect(asked).not.toContain(second);
		expect(store.requests.filter((key) => key === first)).toHaveLength(1);
		await rows("DROP TABLE orders");
		await rows("CREATE VIEW orders AS SELECT 1 AS a");
		const refused = await load({ ...days, run: "2" });
		expect(refused.result).toMatchObject({
			error: { code: "TableNotOurs" },
		});
	});

	test("a day so large that its first objects are sent before all are checked changes as a whole, or not at all", async () => {
		const { manifest, twoDays, load, loaded, rows, tables, proxy } =
			await sceneOf();
		await loaded(await twoDays("before"));
		const events = ["a", "b", "c", "d", "e"].map((name) =>
			eventsOf(day, 5_000, name).map((event) => ({
				...event,
				body: JSON.stringify({ tag: randomBytes(3_072).toString("base64") }),
			})),
		);
		// What a tracking plan omits shows only when all objects are there. One of these two comes early.
		for (const object of [events[0]!, events[1]!])
			Object.assign(object[0]!, {
				body: '{"secret":1,"tag":""}',
				violations: JSON.stringify({
					plan: "p",
					version: "1",
					omit: ["/secret"],
				}),
			});
		const large = await manifest({ [day]: events });
		const [date] = large.dates;
		const objects = date!.objects.map((object, index) =>
			index === 4 ? { ...object, rows: object.rows + 1 } : object,
		);
		const bad = {
			...large,
			dates: [{ ...date!, rows: (date!.rows ?? 0) + 1, objects }],
		};
		const inserts = () =>
			proxy.changes.filter((sql) => sql.endsWith("FORMAT Parquet")).length;
		proxy.cutAt(undefined);
		const refused = await load(bad);
		expect(refused.result).toMatchObject({ error: { code: "ObjectMismatch" } });
		// The check may be sooner.
		expect(inserts()).toBeLessThanOrEqual(1);
		expect(await rows(perDate)).toEqual([
			[day, 3, 3],
			[other, 2, 2],
		]);
		expect(await tables()).toEqual(["_tidemill-loads", "orders"]);
		proxy.cutAt(undefined);
		await loaded(large);
		expect(inserts()).toBe(3);
		expect(await rows(perDate)).toEqual([
			[day, 25_000, 25_000],
			[other, 2, 2],
		]);
		expect(
			await rows(
				"SELECT body FROM orders WHERE length(body) < 100 AND date = '2026-03-01'",
			),
		).toEqual([['{"tag":""}'], ['{"tag":""}']]);
		expect(await tables()).toEqual(["_tidemill-loads", "orders"]);
	});

	test("a Run that was paused past its successor's beginning changes nothing", async () => {
		const { twoDays, load, loaded, rows, proxy } = await sceneOf();
		await loaded(await twoDays("a"));
		const slow = await twoDays("slow");
		const quick = await twoDays("quick");
		let isOvertaken = false;
		proxy.onStatement = async (statement) => {
			if (isOvertaken || !statement.includes("REPLACE PARTITION")) return;
			isOvertaken = true;
			await loaded(quick);
		};
		const end = await load(slow);
		expect(end.exitCode).not.toBe(0);
		expect(
			await rows("SELECT DISTINCT JSONExtractString(body, 'tag') FROM orders"),
		).toEqual([["quick"]]);
	});

	test("a full reload keeps what people gave the table", async () => {
		const { twoDays, loaded, rows } = await sceneOf();
		await loaded(await twoDays("a"), fullReload);
		await rows(
			"ALTER TABLE orders ADD INDEX by_id event_id TYPE bloom_filter GRANULARITY 4",
		);
		await rows(
			"ALTER TABLE orders MODIFY COLUMN body CODEC(ZSTD(6)) COMMENT 'as sent'",
		);
		await loaded(await twoDays("b"), fullReload);
		const [[made]] = (await rows("SHOW CREATE TABLE orders")) as [[string]];
		expect(made).toContain("INDEX by_id");
		expect(made).toContain("CODEC(ZSTD(6))");
		expect(made).toContain("'as sent'");
		expect(
			await rows("SELECT DISTINCT JSONExtractString(body, 'tag') FROM orders"),
		).toEqual([["b"]]);
	});

	test("the rows are sorted as the Pipeline says, and another order is refused until a rebuild", async () => {
		const { twoDays, load, loaded, rows } = await sceneOf();
		const table = {
			name: "orders",
			columns,
			description: "",
			options: { orderBy: ["event_id", "date"] },
		};
		const first = await twoDays("a");
		await loaded(first, { table });
		const order = `SELECT sorting_key, partition_key FROM system.tables WHERE name = 'orders' AND database = currentDatabase()`;
		const orderOf = async () =>
			(await rows(
				order.replace(
					"name = 'orders' AND database = currentDatabase()",
					"concat(database, '.', name) = 'orders'",
				),
			)) as unknown;
		expect(await orderOf()).toEqual([["event_id, date", "date"]]);
		const changed = { ...table, options: { orderBy: ["timestamp"] } };
		const refused = await load({ ...first, run: "2" }, { table: changed });
		expect(refused.result).toMatchObject({
			error: {
				code: "TableIncompatible",
				message: expect.stringContaining("it is sorted by (event_id, date)"),
			},
		});
		await loaded({ ...first, run: "3" }, { table: changed, rebuild: true });
		expect(await orderOf()).toEqual([["timestamp", "date"]]);
		expect(await rows(perDate)).toHaveLength(2);
	});

	test("every type of column has the value that was sent, or NULL, which is counted", async () => {
		const { manifest, loaded, rows } = await sceneOf();
		const from = (name: string, type: BodyValueType): TableColumn => ({
			name,
			from: { bodyPointer: `/${name}`, ...type },
		});
		const table = {
			name: "orders",
			description: "",
			columns: [
				...columns,
				from("s", { type: "String" }),
				from("i", { type: "Integer" }),
				from("n", { type: "Number" }),
				from("c", { type: "Decimal", precision: 38, scale: 9 }),
				from("b", { type: "Boolean" }),
				from("t", { type: "Timestamp" }),
				from("d", { type: "Date" }),
				from("j", { type: "JSON" }),
				{ name: "header_x", from: { header: "x" } },
				{ name: "violations", from: "Violations" as const },
			],
		};
		const bodies = [
			String.raw`{"s":"a\u0000'\\ü","i":9223372036854775807,"n":-0.1,"c":12345678901234567890123456789.123456789,"b":true,"t":"1900-01-01T00:00:00.000001Z","d":"2299-12-31","j":{"a":[1.5,{"b":"2026-03-01T12:00:00Z"}]}}`,
			"{}",
			'{"s":{},"i":1.5,"n":"x","c":"1e30","b":0,"t":"2300-01-01T00:00:00Z","d":"1899-12-31","j":[1]}',
			`{"j":${'{"a":'.repeat(600)}1${"}".repeat(600)}}`,
		];
		const events = bodies.map((body, index) => ({
			...eventsOf(day, 4, "a")[index]!,
			body,
			headers: { x: "ü" },
			violations: '{"violations":[]}',
		}));
		const result = await loaded(await manifest({ [day]: [events] }), { table });
		const names = table.columns
			.slice(4)
			.map(({ name }) => name)
			.join(", ");
		const found = await rows(
			`SELECT ${names} FROM orders ORDER BY event_id SETTINGS output_format_json_quote_64bit_integers = 1, output_format_json_quote_decimals = 1`,
		);
		const none = [
			null,
			null,
			null,
			null,
			null,
			null,
			null,
			null,
			"ü",
			'{"violations":[]}',
		];
		expect(found).toEqual([
			[
				"a\0'\\ü",
				"9223372036854775807",
				-0.1,
				"12345678901234567890123456789.123456789",
				true,
				"1900-01-01 00:00:00.000001",
				"2299-12-31",
				{ a: [1.5, { b: "2026-03-01T12:00:00Z" }] },
				...none.slice(8),
			],
			none,
			none,
			none,
		]);
		expect(await rows("SELECT body FROM orders ORDER BY event_id")).toEqual(
			bodies.map((body) => [body]),
		);
		const unfit = result.unfitValues as { column: string; rows: number }[];
		expect(
			Object.fromEntries(unfit.map(({ column, rows }) => [column, rows])),
		).toEqual({
			...{ s: 1, i: 1, n: 1, c: 1, b: 1, t: 1, d: 1, j: 2 },
		});
		expect(
			await loaded(
				{ ...(await manifest({ [day]: [events] })), run: "again" },
				{ table },
			),
		).toMatchObject({ rows: 4 });
	});

	test("JSON columns on a server before 25.3 make the table incompatible, with its version", async () => {
		const old = await startClickHouse({ version: "24.8.14.39" });
		onTestFinished(() => old.stop());
		const { manifest, load, check } = await clickHouseFixture(old);
		await check();
		const json = {
			name: "j",
			from: { bodyPointer: "/j", type: "JSON" as const },
		};
		const end = await load(await manifest({ [day]: [eventsOf(day, 1, "a")] }), {
			table: { name: "orders", description: "", columns: [...columns, json] },
		});
		expect(end.result).toMatchObject({
			error: {
				code: "TableIncompatible",
				message: expect.stringContaining("the server is 24.8.14.39"),
			},
		});
	});

	test("a check drops what killed checks have left, and nothing of one that is under way", async () => {
		const { check, database, rows, tables } = await clickHouseFixture(server);
		const left = "_tidemill-check-1700000000000-a";
		const others = ["_tidemill-check", `_tidemill-check-${Date.now()}-b`];
		for (const name of [left, `${left}-staging`, ...others])
			await rows(
				`CREATE TABLE ${database}.\`${name}\` (date Date) ENGINE = MergeTree ORDER BY date`,
			);
		await check();
		expect(await tables()).toEqual(others);
	});

	test("a statement that works for an hour is ended by the server", async () => {
		const { twoDays, loaded, proxy } = await sceneOf();
		const limits = new Set<string | null>();
		proxy.onStatement = async (_, settings) =>
			limits.add(settings.get("max_execution_time"));
		await loaded(await twoDays("a"));
		expect([...limits]).toEqual(["3600"]);
	});

	test("a server that is too old, has no such database or refuses a right says so in its own words", async () => {
		const { check, tables } = await clickHouseFixture(server);
		await check();
		expect(await tables()).toEqual([]);
		await expect(check({ database: "nowhere" })).rejects.toMatchObject({
			code: "DatabaseMissing",
		});
		const other = await startClickHouse({
			version: "24.3.1.1",
			deny: "REPLACE PARTITION",
		});
		onTestFinished(() => other.stop());
		const old = await clickHouseFixture(other);
		await expect(old.check()).rejects.toMatchObject({
			code: "ClickHouseTooOld",
			message: expect.stringContaining("24.3.1.1"),
		});
		await expect(old.check({ url: server.url })).rejects.toMatchObject({
			code: "CredentialsRefused",
		});
		const strict = await startClickHouse({ deny: "REPLACE PARTITION" });
		onTestFinished(() => strict.stop());
		const denied = await clickHouseFixture(strict);
		await expect(denied.check()).rejects.toMatchObject({
			code: "PermissionDenied",
			message: expect.stringContaining("Not enough privileges"),
		});
		expect(await denied.tables()).toEqual([]);
	});

	test("an address of the Job's own Pod or of a cloud's metadata is refused, and a name that leads there", async () => {
		const { check, proxy } = await clickHouseFixture(server);
		const { port } = new URL(proxy.url);
		for (const url of [
			proxy.url,
			`http://localhost:${port}`,
			`http://[::ffff:127.0.0.1]:${port}`,
			"http://169.254.169.254",
		])
			await expect(check({ url, isLocal: false }), url).rejects.toMatchObject({
				code: "HostNotAllowed",
			});
		await expect(
			check({ url: "http://169.254.169.254" }),
		).rejects.toMatchObject({ code: "HostNotAllowed" });
		await check({ url: `http://localhost:${port}` });
	});

	test("not a word of another server's answer is quoted, and redirects aren't followed", async () => {
		const { check } = await clickHouseFixture(server);
		const secret = createServer((request, response) => {
			request.resume();
			response.writeHead(request.url === "/stolen" ? 200 : 302, {
				location: "/stolen",
			});
			response.end(
				"Code: 1. DB::Exception: the metadata's token (SECRET_TOKEN)",
			);
		}).listen(0, "127.0.0.1");
		await once(secret, "listening");
		onTestFinished(() => void secret.close());
		const { port } = secret.address() as AddressInfo;
		const failure = await check({ url: `http://127.0.0.1:${port}` }).catch(
			(error) => error,
		);
		expect(failure).toMatchObject({ code: "ClickHouseNotSpoken" });
		expect(failure.message).not.toMatch(/token/i);
	});
});
