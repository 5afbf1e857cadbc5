// On a laptop nothing proves this: what an index of a person's does is DuckDB's own, and make test loads files without one.
import { expect, test } from "vitest";
import type { ManifestErasure } from "../../packages/contracts/manifest.ts";
import { later } from "../support/fixtures/data-plane/conforming-days.ts";
import {
	columns,
	eventsOf,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";

/* What people add to a table in a DuckDB file, and what Runs do with it: the rows of the table in the docs. */

const day = "2026-03-01";

test("a UNIQUE index refuses a day that is loaded again, the advice is to drop it, and no id is quoted", async () => {
	const { manifest, load, change, rows } = await loadFixture();
	const days = later(await manifest({ [day]: [eventsOf(day, 3, "a")] }));
	expect((await load(days)).exitCode).toBe(0);
	await change("CREATE UNIQUE INDEX once ON orders (event_id)");
	const { result } = await load(later(days));
	expect(result).toMatchObject({
		error: {
			code: "RowsNotUnique",
			message: expect.stringMatching(/Drop the UNIQUE index/),
		},
	});
	const ids = (await rows("SELECT event_id FROM orders")).flat();
	expect(ids).toHaveLength(3);
	for (const id of ids) expect(JSON.stringify(result)).not.toContain(id);
	await change("DROP INDEX once");
	await change("CREATE INDEX mine ON orders (event_id)");
	expect((await load(later(days))).exitCode).toBe(0);
});

test("views, and columns of a person's, stop neither a Run nor an Erase", async () => {
	const { manifest, load, change, rows } = await loadFixture();
	const next = "2026-03-02";
	const days = async (days: Record<string, number>, more = {}) => {
		const entries = Object.entries(days).map(([date, count]) => [
			date,
			count > 0 ? [eventsOf(date, count, "a")] : [],
		]);
		const made = await manifest(Object.fromEntries(entries));
		const { exitCode, log } = await load(later({ ...made, ...more }));
		expect(exitCode, log).toBe(0);
	};
	await days({ [day]: 2 });
	await change("ALTER TABLE orders ADD COLUMN place VARCHAR");
	await change("UPDATE orders SET place = 'there'");
	await change("CREATE VIEW mine AS SELECT event_id, place FROM orders");
	await days({ [next]: 1 });
	await days(
		{ "2026-03-03": 0 },
		{
			asked: { extent: "Chosen" },
			erasures: {
				asked: 1,
				others: [{ mode: "BlankBody", before: next, eventIDs: [`${day}-a-1`] }],
			},
		},
	);
	expect(await rows("SELECT * FROM mine ORDER BY event_id")).toEqual([
		[`${day}-a-0`, "there"],
		[`${day}-a-1`, null],
		[`${next}-a-0`, null],
	]);
});

test("a full reload keeps the table with its indexes, defaults, constraints and the words of its comments", async () => {
	const { manifest, load, change, rows } = await loadFixture();
	const input = {
		strategy: "FullReload" as const,
		table: {
			name: "orders",
			description: "",
			columns: columns.filter(({ from }) => from !== "Date"),
		},
	};
	const reloaded = async (count: number) => {
		const days = later(await manifest({ [day]: [eventsOf(day, count, "a")] }));
		const { exitCode, log } = await load(days, { input });
		expect(exitCode, log).toBe(0);
		expect(await rows("SELECT count(*) FROM orders")).toEqual([
			[String(count)],
		]);
	};
	await reloaded(3);
	await change("CREATE INDEX mine ON orders (event_id)");
	await change("ALTER TABLE orders ALTER body SET DEFAULT 'none'");
	await change("COMMENT ON COLUMN orders.body IS 'Mine.'");
	const facts = () =>
		rows(
			"SELECT sql FROM duckdb_tables() UNION ALL SELECT sql FROM duckdb_indexes() UNION ALL SELECT comment FROM duckdb_columns() WHERE table_name = 'orders' ORDER BY 1",
		);
	const before = await facts();
	expect(JSON.stringify(before)).toMatch(/mine.*/i);
	await reloaded(4);
	expect(await facts()).toEqual(before);
});

const erasing = (what: Partial<ManifestErasure>) => ({
	asked: { extent: "Chosen" as const },
	erasures: {
		asked: 1,
		others: [{ mode: "RemoveRow" as const, before: "2026-03-02", ...what }],
	},
});
const made = (more = "") =>
	`CREATE TABLE orders (event_id VARCHAR${more}, timestamp TIMESTAMPTZ, body VARCHAR, date DATE)`;

test("a rebuild is refused by indexes and constraints, which a new table would lack", async () => {
	const { manifest, load, change, rows } = await loadFixture();
	await change(
		made().replace("body VARCHAR", "body VARCHAR CHECK (body <> 'x')"),
	);
	const days = await manifest({ [day]: [eventsOf(day, 3, "a")] });
	expect((await load(later(days))).exitCode).toBe(0);
	await change("CREATE INDEX mine ON orders (event_id)");
	const table = {
		name: "orders",
		description: "",
		columns: columns.map((column) =>
			column.from === "EventID" ? { ...column, from: "Timestamp" } : column,
		) as typeof columns,
	};
	const rebuilt = () => load(later(days), { input: { rebuild: true, table } });
	expect((await rebuilt()).result).toMatchObject({
		error: {
			code: "TableInUse",
			message: expect.stringMatching(
				/can't keep its CHECK \(body\), index mine\./,
			),
		},
	});
	expect(await rows("SELECT count(*) FROM orders")).toEqual([["3"]]);
	await change("DROP INDEX mine");
	expect((await rebuilt()).result).toMatchObject({
		error: { message: expect.stringContaining("its CHECK (body).") },
	});
});

test("a foreign key that refers to rows keeps them from a reload and an Erase, and a new day comes", async () => {
	const { manifest, load, change, rows } = await loadFixture();
	await change(made(" PRIMARY KEY"));
	const days = await manifest({ [day]: [eventsOf(day, 3, "a")] });
	expect((await load(later(days))).exitCode).toBe(0);
	await change(
		`CREATE TABLE notes (event_id VARCHAR REFERENCES orders (event_id)); INSERT INTO notes VALUES ('${day}-a-1')`,
	);
	const next = await manifest({
		"2026-03-02": [eventsOf("2026-03-02", 1, "a")],
	});
	expect((await load(later(next))).exitCode).toBe(0);
	const none = await manifest({ "2026-03-03": [] });
	const erasure = (index: number) =>
		later({ ...none, ...erasing({ eventIDs: [`${day}-a-${index}`] }) });
	for (const run of [later(days), erasure(1)])
		expect((await load(run)).result).toMatchObject({
			error: {
				code: "RowsRefused",
				message: expect.stringContaining('by constraint "foreign key"'),
			},
		});
	expect(await rows("SELECT * FROM notes")).toEqual([[`${day}-a-1`]]);
	expect(await rows("SELECT count(*) FROM orders")).toEqual([["4"]]);
});

test("an Erase that blanks rows ends with an error where a CHECK refuses blank ones", async () => {
	const { manifest, load, change } = await loadFixture();
	await change(
		made().replace("body VARCHAR", "body VARCHAR CHECK (length(body) > 5)"),
	);
	const days = await manifest({ [day]: [eventsOf(day, 3, "a")] });
	expect((await load(later(days))).exitCode).toBe(0);
	const none = await manifest({ "2026-03-03": [] });
	const what = { mode: "BlankBody" as const, eventIDs: [`${day}-a-1`] };
	expect(
		(await load(later({ ...none, ...erasing(what) }))).result,
	).toMatchObject({
		error: {
			code: "RowsRefused",
			message: expect.stringContaining('"CHECK" in table "orders"'),
		},
	});
});

test("a table without the column of its dates, or with texts in it, is rebuilt where the Pipeline says so", async () => {
	const { manifest, load, change, rows } = await loadFixture();
	const days = later(await manifest({ [day]: [eventsOf(day, 3, "a")] }));
	expect((await load(days)).exitCode).toBe(0);
	for (const how of ["DROP COLUMN date", "ALTER date TYPE VARCHAR"]) {
		await change(`ALTER TABLE orders ${how}`);
		const input = { rebuild: true, acceptLoss: [] };
		const { exitCode, log } = await load(later(days), { input });
		expect(exitCode, log).toBe(0);
		expect(
			await rows("SELECT count(*)::INT FROM orders GROUP BY date"),
		).toEqual([[3]]);
	}
});
