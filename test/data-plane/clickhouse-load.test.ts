import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LoadInput } from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { fileEnv } from "../../packages/warehouses/clickhouse/input.ts";
import {
	columns,
	eventsOf,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";
import {
	type ClickHouseServer,
	startClickHouse,
} from "../support/servers/clickhouse/server.ts";
import { hasPython } from "../support/servers/python.ts";

let server: ClickHouseServer;
let directory: string;
beforeAll(async () => {
	if (!(await hasPython())) return;
	server = await startClickHouse();
	directory = await mkdtemp(join(tmpdir(), "clickhouse-credentials-"));
	for (const name of ["username", "password"] as const) {
		process.env[fileEnv[name]] = join(directory, name);
		await writeFile(
			join(directory, name),
			name === "username" ? server.user : server.password,
		);
	}
});
afterAll(async () => {
	await server?.stop();
	if (directory) await rm(directory, { recursive: true, force: true });
});

let databases = 0;

async function scene(change: Partial<LoadInput> = {}) {
	const fixture = await loadFixture();
	const database = `shop_${databases++}`;
	await server.rows(`CREATE DATABASE ${database}`);
	const destination = {
		type: "ClickHouse",
		url: server.url,
		database,
		engine: "MergeTree",
	};
	const load = async (manifest: Manifest, input: Partial<LoadInput> = {}) => {
		const end = await fixture.load(manifest, {
			input: { destination, ...change, ...input },
		});
		return { ...end, ...(end.result as object) } as typeof end &
			Record<string, unknown>;
	};
	let second = 0;
	/** Snapshots are seconds apart, and soon after the days. */
	const manifest: typeof fixture.manifest = async (days) => ({
		...(await fixture.manifest(days)),
		snapshotTime: new Date(Date.UTC(2026, 2, 3, 0, 0, second++)).toISOString(),
	});
	const rows = (sql: string) =>
		server.rows(sql.replaceAll("orders", `${database}.orders`));
	return { ...fixture, manifest, database, load, rows };
}

const perDate =
	"SELECT date, toInt32(count()), toInt32(uniqExact(event_id)) FROM orders GROUP BY date ORDER BY date";

test("a Run makes the table, and the next one adds what is new", async () => {
	const { manifest, load, rows, database } = await scene();
	const first = await manifest({
		"2026-03-01": [eventsOf("2026-03-01", 3, "a")],
		"2026-03-02": [eventsOf("2026-03-02", 2, "b")],
	});
	const end = await load(first);
	expect(end.exitCode, end.log).toBe(0);
	expect(await rows(perDate)).toEqual([
		["2026-03-01", 3, 3],
		["2026-03-02", 2, 2],
	]);
	const again = await load({ ...first, run: "again" }, { adds: true });
	expect(again).toMatchObject({ exitCode: 0, addedRows: 0, unchangedDates: 2 });
	const more = await manifest({
		"2026-03-02": [eventsOf("2026-03-02", 4, "c")],
	});
	const [one, two] = first.dates;
	const second = {
		...more,
		dates: [
			one!,
			{
				...two!,
				rows: 6,
				objects: [...two!.objects, ...more.dates[0]!.objects],
			},
		],
	};
	const added = await load(second, { adds: true });
	expect(added, added.log).toMatchObject({
		exitCode: 0,
		addedRows: 4,
		unchangedDates: 1,
	});
	expect(await rows(perDate)).toEqual([
		["2026-03-01", 3, 3],
		["2026-03-02", 6, 6],
	]);
	expect(added.repairedDates).toBeUndefined();
	await rows(
		"ALTER TABLE orders UPDATE body = 'mine' WHERE date = '2026-03-01' SETTINGS mutations_sync = 2",
	);
	const repaired = await load({ ...second, run: "repair" }, { adds: true });
	expect(repaired, repaired.log).toMatchObject({
		exitCode: 0,
		repairedDates: ["2026-03-01"],
	});
	expect(await rows("SELECT count() FROM orders WHERE body = 'mine'")).toEqual([
		[0],
	]);
	expect(
		await server.rows(
			`SELECT name FROM system.tables WHERE database = '${database}' ORDER BY name`,
		),
	).toEqual([["_tidemill-loads"], ["orders"]]);
});

test("a full reload replaces the table at once", async () => {
	const all = columns.filter(({ from }) => from !== "Date");
	const { manifest, load, rows } = await scene({
		strategy: "FullReload",
		table: { name: "orders", columns: all, description: "Events of shop" },
	});
	const first = await manifest({
		"2026-03-01": [eventsOf("2026-03-01", 3, "a")],
	});
	expect(await load(first)).toMatchObject({ exitCode: 0 });
	const second = await manifest({
		"2026-03-02": [eventsOf("2026-03-02", 5, "b")],
	});
	expect(await load(second)).toMatchObject({ exitCode: 0 });
	expect(
		await rows("SELECT toInt32(count()), min(timestamp) FROM orders"),
	).toEqual([[5, "2026-03-02 00:00:00.000000"]]);
});

test("a check passes, and leaves nothing", async () => {
	const { database } = await scene();
	const { open } = await import(
		"../../packages/warehouses/clickhouse/load/warehouse.ts"
	);
	const pino = (await import("pino")).default;
	const warehouse = await open(
		{ type: "ClickHouse", url: server.url, database, engine: "MergeTree" },
		{
			log: pino({ level: "silent" }),
			signal: new AbortController().signal,
			scratch: directory,
			warehouse: undefined,
			busyWaitMs: 0,
		},
	);
	await warehouse.check();
	expect(
		await server.rows(
			`SELECT name FROM system.tables WHERE database = '${database}'`,
		),
	).toEqual([]);
});
