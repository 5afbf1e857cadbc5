// On a laptop nothing proves this: it is ClickHouse's alone, and `make test` loads DuckDB and Postgres.
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LoadInput, TableColumn } from "../../packages/contracts/job.ts";
import type {
	Manifest,
	ManifestErasure,
} from "../../packages/contracts/manifest.ts";
import { clickHouseFixture } from "../support/fixtures/data-plane/clickhouse-fixture.ts";
import { later } from "../support/fixtures/data-plane/conforming-days.ts";
import { columns } from "../support/fixtures/data-plane/load-fixture.ts";
import {
	type ClickHouseServer,
	startClickHouse,
} from "../support/servers/clickhouse/server.ts";
import { hasPython } from "../support/servers/python.ts";

/* What people add to a table, and what Runs do with it: the rows of the table in the docs. */

const isHere = await hasPython();
let server: ClickHouseServer;
beforeAll(async () => {
	if (isHere) server = await startClickHouse();
});
afterAll(() => server?.stop());

const day = "2026-03-01";
const hourMs = 3_600_000;

async function sceneOf() {
	const fixture = await clickHouseFixture(server);
	const loaded = async (manifest: Manifest, input: Partial<LoadInput> = {}) => {
		const end = await fixture.load(later(manifest), input);
		expect(end.exitCode, end.log).toBe(0);
		return end.result as unknown as Record<string, unknown>;
	};
	/** An object for each tag, of an event at each of these hours. */
	const dayOf = (objects: Record<string, number[]>) =>
		fixture.manifest({
			[day]: Object.entries(objects).map(([tag, hours]) =>
				hours.map((hour) => ({
					event_id: `${tag}${hour}`,
					timestampMs: Date.parse(day) + hour * hourMs,
					body: "{}",
				})),
			),
		});
	const ids = async () =>
		(await fixture.rows("SELECT event_id FROM orders ORDER BY 1")).flat();
	return { ...fixture, loaded, dayOf, ids };
}

/** A TTL by which what came before an hour of the day is over. */
function ttlUntil(hour: number): string {
	const ageSeconds = (Date.now() - Date.parse(day) - hour * hourMs) / 1_000;
	return `toDateTime(timestamp) + toIntervalSecond(${Math.round(ageSeconds)})`;
}

test.skipIf(!isHere).each(["Incremental", "FullReload"] as const)(
	"rows that a TTL has deleted are done, and an expired row that a Run loads is gone after a merge: %s",
	async (strategy) => {
		const { loaded, dayOf, rows, ids } = await sceneOf();
		const input: Partial<LoadInput> = {
			strategy,
			table: {
				name: "orders",
				columns: columns.filter(
					({ from }) => strategy === "Incremental" || from !== "Date",
				),
				description: "",
			},
		};
		const merge = () => rows("OPTIMIZE TABLE orders FINAL");
		const hours = [0, 6, 12, 18];
		await loaded(await dayOf({ a: hours }), input);
		// The second deletes none of these.
		await rows(
			`ALTER TABLE orders MODIFY TTL ${ttlUntil(9)}, toDateTime(timestamp) + INTERVAL 9 YEAR DELETE WHERE event_id = 'none, such'`,
		);
		await merge();
		expect(await ids()).toEqual(["a12", "a18"]);
		// The whole day is replaced.
		const first = await dayOf({ a: hours });
		await loaded(first, input);
		await merge();
		expect(await ids()).toEqual(["a12", "a18"]);
		if (strategy === "FullReload") return;
		const adding = { ...input, adds: true as const };
		for (let times = 0; times < 2; times++) {
			const same = await loaded(first, adding);
			expect(same).toMatchObject({ addedRows: 0, unchangedDates: 1 });
			expect(same).not.toHaveProperty("repairedDates");
		}
		expect(await ids()).toEqual(["a12", "a18"]);
		const [old, added] = [first, await dayOf({ b: [3, 15] })].map(
			({ dates }) => dates[0]!,
		);
		const objects = [...old!.objects, ...added!.objects];
		const rowsOfBoth = old!.rows + added!.rows;
		const more = { ...first, dates: [{ ...old!, rows: rowsOfBoth, objects }] };
		for (const isMerged of [false, true, true]) {
			expect(await loaded(more, adding)).not.toHaveProperty("repairedDates");
			if (!isMerged) continue;
			await merge();
			expect(await ids()).toEqual(["a12", "a18", "b15"]);
		}
		// What a person deletes beside it isn't found, and a Run that replaces brings it back.
		await rows(
			"ALTER TABLE orders DELETE WHERE event_id = 'a18' SETTINGS mutations_sync = 2",
		);
		expect(await loaded(more, adding)).not.toHaveProperty("repairedDates");
		expect(await ids()).toEqual(["a12", "b15"]);
		await loaded(await dayOf({ a: hours, b: [3, 15] }), input);
		await merge();
		expect(await ids()).toEqual(["a12", "a18", "b15"]);
		const options = { orderBy: ["event_id"] };
		const table = { ...input.table!, options };
		await loaded(first, { ...input, table, rebuild: true });
		await merge();
		expect(await ids()).toEqual(hours.map((hour) => `a${hour}`).sort());
	},
);

test.skipIf(!isHere)(
	"an Erase goes on beside a TTL and views, and doesn't reach rows that a materialized view has itself",
	async () => {
		const { loaded, dayOf, manifest, rows, ids } = await sceneOf();
		await loaded(await dayOf({ a: [1, 2] }));
		const select = "AS SELECT event_id FROM orders";
		const made = "ENGINE = MergeTree ORDER BY event_id";
		for (const sql of [
			"ALTER TABLE orders MODIFY TTL date + INTERVAL 9 YEAR",
			`CREATE VIEW orders_view ${select}`,
			`CREATE MATERIALIZED VIEW orders_daily REFRESH EVERY 1 DAY ${made} ${select}`,
			`CREATE MATERIALIZED VIEW orders_fed ${made} POPULATE ${select}`,
		])
			await rows(sql);
		await loaded({
			...(await manifest({ "2026-03-03": [] })),
			asked: { extent: "Chosen" },
			erasures: {
				asked: 1,
				others: [{ mode: "RemoveRow", before: "2026-03-02", eventIDs: ["a1"] }],
			},
		});
		await rows("SYSTEM REFRESH VIEW orders_daily");
		await rows("SYSTEM WAIT VIEW orders_daily");
		const idsOf = async (name: string) =>
			(await rows(`SELECT event_id FROM ${name} ORDER BY 1`)).flat();
		expect(await ids()).toEqual(["a2"]);
		expect(await idsOf("orders_view")).toEqual(["a2"]);
		expect(await idsOf("orders_daily")).toEqual(["a2"]);
		expect(await idsOf("orders_fed")).toEqual(["a1", "a2"]);
	},
);

test.skipIf(!isHere)(
	"a materialized view that a Run feeds no row is named, and one that refreshes or a view is not",
	async () => {
		const { loaded, dayOf, rows } = await sceneOf();
		await loaded(await dayOf({ a: [1] }));
		await rows("CREATE VIEW orders_view AS SELECT event_id FROM orders");
		await rows(
			"CREATE MATERIALIZED VIEW orders_daily REFRESH EVERY 1 DAY ENGINE = MergeTree ORDER BY event_id AS SELECT event_id FROM orders",
		);
		expect(await loaded(await dayOf({ a: [1] }))).not.toHaveProperty("warning");
		await rows(
			"CREATE MATERIALIZED VIEW orders_fed ENGINE = MergeTree ORDER BY event_id AS SELECT event_id FROM orders",
		);
		expect(await loaded(await dayOf({ a: [1, 2] }))).toMatchObject({
			warning: expect.stringMatching(
				/^Materialized view orders_fed gets no row.*REFRESH EVERY/,
			),
		});
		expect(await rows("SELECT count() FROM orders_fed").then(String)).toBe("0");
	},
);

test.skipIf(!isHere)(
	"a JSON value with one path twice is NULL and counted, and ends no load",
	async () => {
		const { loaded, manifest, rows } = await sceneOf();
		const bodies = ['{"a":{"b":1},"a.b":2}', '{"a":{"b":3},"c.d":4}'];
		const days = await manifest({
			[day]: [
				bodies.map((body, index) => ({
					event_id: `e${index}`,
					timestampMs: Date.parse(day) + index,
					body: `{"doc":${body}}`,
				})),
			],
		});
		const doc: TableColumn = {
			name: "doc",
			from: { bodyPointer: "/doc", type: "JSON" },
		};
		const table = { name: "orders", columns: [...columns, doc] };
		expect(
			await loaded(days, { table: { ...table, description: "" } }),
		).toMatchObject({ unfitValues: [{ column: "doc", rows: 1 }] });
		expect(
			await rows("SELECT toString(doc) FROM orders ORDER BY event_id"),
		).toEqual([[null], ['{"a":{"b":3},"c":{"d":4}}']]);
	},
);

const erasing = (what: Partial<ManifestErasure>) => ({
	asked: { extent: "Chosen" as const },
	erasures: {
		asked: 1,
		others: [{ mode: "RemoveRow" as const, before: "2026-03-02", ...what }],
	},
});

test.skipIf(!isHere)(
	"rows that somebody's DELETE has marked are found, said and loaded again, and are in the files until the mask is applied",
	async () => {
		const { loaded, dayOf, rows, ids } = await sceneOf();
		const days = await dayOf({ a: [1, 2] });
		await loaded(days);
		const remove = "DELETE FROM orders WHERE event_id = 'a1'";
		await rows(remove);
		expect(await loaded(days, { adds: true })).toMatchObject({
			repairedDates: [day],
		});
		expect(await ids()).toEqual(["a1", "a2"]);
		await rows(remove);
		const inFiles = async () =>
			(
				await rows(
					"SELECT event_id FROM orders ORDER BY 1 SETTINGS apply_deleted_mask = 0",
				)
			).flat();
		expect(await inFiles()).toEqual(["a1", "a2"]);
		await rows(
			"ALTER TABLE orders APPLY DELETED MASK SETTINGS mutations_sync = 2",
		);
		expect(await inFiles()).toEqual(["a2"]);
	},
);

test.skipIf(!isHere)(
	"beside a projection and computed columns, Runs and an Erase go on, and these say what the rows say",
	async () => {
		const { loaded, dayOf, manifest, rows } = await sceneOf();
		const days = await dayOf({ a: [1, 2] });
		await loaded(days);
		for (const sql of [
			"ALTER TABLE orders ADD COLUMN size UInt64 MATERIALIZED length(body), ADD COLUMN upper String DEFAULT upper(body), ADD COLUMN lower String ALIAS lower(body)",
			"ALTER TABLE orders ADD PROJECTION counts (SELECT event_id, sum(size) GROUP BY event_id)",
			"ALTER TABLE orders MATERIALIZE PROJECTION counts SETTINGS mutations_sync = 2",
		])
			await rows(sql);
		const same = await loaded(days, { adds: true });
		expect(same).toMatchObject({ unchangedDates: 1 });
		await loaded(await dayOf({ a: [1, 2, 3] }));
		const none = await manifest({ "2026-03-03": [] });
		const blank = { mode: "BlankBody" as const, eventIDs: ["a1"] };
		await loaded({ ...none, ...erasing(blank) });
		await loaded({ ...none, ...erasing({ eventIDs: ["a2"] }) });
		expect(
			await rows(
				"SELECT event_id, body, sum(size), any(upper), any(lower) FROM orders GROUP BY 1, 2 ORDER BY 1",
			),
		).toEqual([
			["a1", "null", 4, "", "null"],
			["a3", "{}", 2, "{}", "{}"],
		]);
		expect(
			await rows(
				"SELECT event_id, sum(size) FROM orders GROUP BY event_id ORDER BY 1 SETTINGS force_optimize_projection = 1",
			),
		).toEqual([
			["a1", 4],
			["a3", 2],
		]);
	},
);

test.skipIf(!isHere)(
	"values that the TTL of a column has deleted are done, and rows that somebody deletes beside them are found",
	async () => {
		const { loaded, dayOf, rows, ids } = await sceneOf();
		const first = await dayOf({ a: [0, 6, 12] });
		await loaded(first);
		await rows(
			`ALTER TABLE orders MODIFY COLUMN body String TTL ${ttlUntil(24)}`,
		);
		const bodies = async () => {
			await rows("OPTIMIZE TABLE orders FINAL");
			return (await rows("SELECT body FROM orders ORDER BY event_id")).flat();
		};
		expect(await bodies()).toEqual(["", "", ""]);
		const adding = { adds: true as const };
		const [old, added] = [first, await dayOf({ b: [3] })].map(
			({ dates }) => dates[0]!,
		);
		const objects = [...old!.objects, ...added!.objects];
		const more = { ...first, dates: [{ ...old!, rows: 4, objects }] };
		for (const days of [first, more, more]) {
			expect(await loaded(days, adding)).not.toHaveProperty("repairedDates");
			expect((await bodies()).join("")).toBe("");
		}
		await rows(
			"ALTER TABLE orders DELETE WHERE event_id = 'a6' SETTINGS mutations_sync = 2",
		);
		expect(await loaded(more, adding)).toMatchObject({ repairedDates: [day] });
		expect(await ids()).toEqual(["a0", "a12", "a6", "b3"]);
	},
);
