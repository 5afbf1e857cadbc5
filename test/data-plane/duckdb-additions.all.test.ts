// In make test: test/data-plane/warehouses/duckdb.laptop.test.ts
import { readFile, rm } from "node:fs/promises";
import { DuckDBInstance } from "@duckdb/node-api";
import { pino } from "pino";
import { expect, test } from "vitest";
import { outputName } from "../../ingest/wire/object-name.ts";
import type { LoadInput } from "../../packages/contracts/job.ts";
import type {
	Manifest,
	ManifestObject,
} from "../../packages/contracts/manifest.ts";
import { Session } from "../../packages/duckdb/session.ts";
import { KnownDates } from "../../packages/warehouses/duckdb/load/known-dates.ts";
import {
	eventsOf,
	type LoadOptions,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";

/*
 * A scheduled Run adds to a table what is new (warehouses/conformance-cases.ts). Here: what a DuckDB file tells it of changes
 * by hand, and what it reads of the bucket.
 */

const date = "2026-03-01";
const other = "2026-03-02";
const perDate =
	"select date::text, count(*)::int, count(distinct event_id)::int from orders group by date order by date";

async function scene() {
	const fixture = await loadFixture();
	const { manifest, load, store, rows } = fixture;
	/** Its objects follow those of `before`; snapshots are seconds apart. */
	let second = 0;
	const next = async (
		days: Record<string, string[]>,
		before?: Manifest,
	): Promise<Manifest> => {
		const made = await manifest(
			Object.fromEntries(
				Object.entries(days).map(([date, tags]) => [
					date,
					tags.map((tag) => eventsOf(date, 3, tag)),
				]),
			),
		);
		const dates = made.dates.map((day) => {
			const old = before?.dates.find(({ date }) => date === day.date);
			return {
				...day,
				rows: (old?.rows ?? 0) + day.rows,
				objects: [...(old?.objects ?? []), ...day.objects],
			};
		});
		return { ...made, dates, snapshotTime: time(second++) };
	};
	const scheduled = (manifest: Manifest, options: LoadOptions = {}) =>
		load(manifest, { ...options, input: { adds: true, ...options.input } });
	/** Loads, and returns what was read of the bucket and what the result says. */
	const add = async (manifest: Manifest, input: Partial<LoadInput> = {}) => {
		store.requests.length = 0;
		const end = await scheduled(manifest, { input });
		expect(end.exitCode, end.log).toBe(0);
		const read = store.requests.filter((key) => key.startsWith("events/"));
		return { ...(end.result as object), read } as {
			read: string[];
			addedRows?: number;
			unchangedDates?: number;
			repairedDates?: string[];
		};
	};
	const counts = () => rows(perDate);
	return { ...fixture, next, scheduled, add, counts };
}

function time(second: number): string {
	return new Date(Date.UTC(2026, 2, 2, 12, 0, second)).toISOString();
}

const keysOf = ({ dates }: Manifest, day = date) =>
	dates.find(({ date }) => date === day)!.objects.map(({ key }) => key);

const inserted = `insert into orders by name select 'mine' as event_id, date '${date}' as date`;
const deleted = "delete from orders where event_id like '%-a-0'";

test.each([
	["a row was exchanged for a foreign one", `${deleted}; ${inserted}`],
	[
		"a row was exchanged for a copy of another",
		`${deleted}; insert into orders from orders where event_id like '%-a-1'`,
	],
	[
		"a body was removed",
		"update orders set body = null where event_id like '%-a-1'",
	],
	[
		"a time was changed",
		"update orders set timestamp = timestamp + interval 1 microsecond where event_id like '%-a-1'",
	],
	[
		"the bodies of two rows were exchanged",
		"update orders set body = case when event_id like '%-a-0' then (select body from orders where event_id like '%-a-1') else (select body from orders where event_id like '%-a-0') end where event_id like '%-a-0' or event_id like '%-a-1'",
	],
])(
	"after %s the whole day is replaced, the Run says so, and the other day stays",
	async (_, sql) => {
		const { next, add, change, rows } = await scene();
		const first = await next({ [date]: ["a", "b"], [other]: ["c"] });
		await add(first);
		const before = await rows("select * from orders order by all");
		await change(sql);
		const repair = await add({ ...first, run: "2" });
		expect(repair).toMatchObject({
			repairedDates: [date],
			unchangedDates: 1,
			read: keysOf(first),
		});
		expect(await rows("select * from orders order by all")).toEqual(before);
		const again = await add({ ...first, run: "3" });
		expect(again).toMatchObject({ unchangedDates: 2, read: [] });
		expect(again).not.toHaveProperty("repairedDates");
	},
);

test("the rows of a date aren't read again while only Runs write the file", async () => {
	const { next, add, change, counts, file } = await scene();
	const first = await next({ [date]: ["a"], [other]: ["b"] });
	await add(first);
	const second = await next({ [date]: ["c"] }, first);
	await add(second);
	const note = JSON.parse(await readFile(`${file}~tidemill`, "utf8"));
	expect(note.tables).toEqual({ orders: [date, other] });
	// Only who reads the rows sees this one.
	await change("update orders set body = '{}' where event_id like '%-a-1'");
	await noteAsRuns(file, note.tables);
	const third = await next({ [date]: ["d"] }, second);
	const unread = await add(third);
	expect(unread).toMatchObject({ addedRows: 3, read: keysOf(third).slice(2) });
	expect(unread).not.toHaveProperty("repairedDates");
	await rm(`${file}~tidemill`);
	expect(await add({ ...third, run: "4" })).toMatchObject({
		repairedDates: [date],
	});
	expect(await add({ ...third, run: "5" })).toMatchObject({ read: [] });
	expect(await counts()).toEqual([
		[date, 9, 9],
		[other, 3, 3],
	]);
});

test("a day of long ago is added to like any other, and what somebody changed in it is found, though the record has one entry for it", async () => {
	const { next, add, change, rows, counts, file } = await scene();
	const [old, today] = ["2026-01-01", "2026-06-01"];
	const at = (manifest: Manifest, day: string, second: number): Manifest => ({
		...manifest,
		snapshotTime: `${day}T12:00:0${second}.000Z`,
	});
	const record = () =>
		rows(
			`SELECT count(*)::int, sum(rows)::int, sum(len(objects))::int FROM _tidemill.loads WHERE date = DATE '${old}'`,
		);
	let last = at(await next({ [old]: ["a"] }), old, 0);
	await add(last);
	for (const [second, tag] of ["b", "c"].entries()) {
		last = at(await next({ [old]: [tag] }, last), old, second + 1);
		expect(await add(last)).toMatchObject({ addedRows: 3 });
	}
	expect(await record()).toEqual([[3, 9, 3]]);
	await add(at(await next({ [today]: ["d"] }), today, 0));
	expect(await record()).toEqual([[1, 9, 3]]);
	last = at(await next({ [old]: ["e"] }, last), today, 1);
	const added = await add(last);
	expect(added).toMatchObject({
		addedRows: 3,
		read: keysOf(last, old).slice(3),
	});
	expect(added).not.toHaveProperty("repairedDates");
	await rm(`${file}~tidemill`);
	expect(await add({ ...last, run: "unnoted" })).toMatchObject({ read: [] });
	await change("update orders set body = '{}' where event_id like '%-b-1'");
	last = at(await next({ [old]: ["f"] }, last), today, 2);
	expect(await add(last)).toMatchObject({
		...{ repairedDates: [old], read: keysOf(last, old) },
	});
	expect(await counts()).toEqual([
		[old, 15, 15],
		[today, 3, 3],
	]);
});

/** As if a Run had been the last to write the file. */
async function noteAsRuns(
	file: string,
	tables: Record<string, string[]>,
): Promise<void> {
	const session = await Session.open(
		await DuckDBInstance.create(file),
		new AbortController().signal,
	);
	const known = await KnownDates.read(file);
	for (const [table, dates] of Object.entries(tables))
		known.add(table, dates, date);
	await known.write(session, pino({ level: "silent" }));
	session.close();
}

test("columns that people have added count for nothing", async () => {
	const { next, add, change, rows } = await scene();
	const first = await next({ [date]: ["a"] });
	await add(first);
	await change("alter table orders add column note varchar");
	await change("update orders set note = 'mine'");
	expect(await add({ ...first, run: "2" })).toMatchObject({ read: [] });
	expect(await rows("select distinct note from orders")).toEqual([["mine"]]);
});

// Nothing says that somebody changed rows, so the Run doesn't, either.
test.each([
	["an earlier build, which left no digests", "drop table _tidemill.dates"],
	["another version of DuckDB", "update _tidemill.dates set engine = 'v0'"],
])("a day that %s loaded is replaced once, without a word", async (_, sql) => {
	const { next, add, change } = await scene();
	const first = await next({ [date]: ["a", "b"] });
	await add(first);
	await change(sql);
	const once = await add({ ...first, run: "2" });
	expect(once).toMatchObject({ unchangedDates: 0, read: keysOf(first) });
	expect(once).not.toHaveProperty("repairedDates");
	expect(await add({ ...first, run: "3" })).toMatchObject({ read: [] });
});

test.each<[string, string, Partial<LoadInput>?]>([
	["the record was emptied", "delete from _tidemill.loads"],
	[
		"the table was copied, which leaves the mark behind, and adopted",
		"create table copy as from orders; drop table orders; alter table copy rename to orders",
		{ adopt: true },
	],
])(
	"after %s the whole day is replaced, and then added to again",
	async (_, sql, input) => {
		const { next, add, change, counts } = await scene();
		const first = await next({ [date]: ["a", "b"] });
		await add(first);
		await change(sql);
		const second = await next({ [date]: ["c"] }, first);
		expect((await add(second, input)).read).toHaveLength(3);
		expect(await counts()).toEqual([[date, 9, 9]]);
		const third = await next({ [date]: ["d"] }, second);
		expect((await add(third)).read).toHaveLength(1);
		expect(await counts()).toEqual([[date, 12, 12]]);
	},
);

test("an event that somebody has inserted by hand is not inserted once more", async () => {
	const { next, add, change, counts } = await scene();
	const first = await next({ [date]: ["a", "b"] });
	await add(first);
	// As many rows as before.
	await change(
		"update orders set event_id = replace(event_id, '-a-', '-c-') where event_id like '%-a-%'",
	);
	const second = await next({ [date]: ["c"] }, first);
	await add(second);
	expect(await counts()).toEqual([[date, 9, 9]]);
});

test("a compaction of loaded objects changes nothing, and one of others replaces the day", async () => {
	const { next, add, counts } = await scene();
	const first = await next({ [date]: ["a", "b"], [other]: ["c"] });
	await add(first);
	const compacted = async (before: Manifest, of: string): Promise<Manifest> => {
		const made = await next({ [of]: ["together"] });
		const { objects, rows } = before.dates.find(({ date }) => date === of)!;
		const inputs = keysOf(before, of).map(nameIn).sort();
		const [file] = made.dates[0]!.objects as [ManifestObject];
		const key = `events/date=${of}/${outputName(inputs)}`;
		const output = { ...file, key, rows, inputs: objects.length };
		const dates = before.dates.map((day) =>
			day.date === of ? { ...day, objects: [output] } : day,
		);
		return { ...before, run: made.run, dates };
	};
	expect(await add(await compacted(first, date))).toMatchObject({
		unchangedDates: 2,
		read: [],
	});
	const later = await next({ [date]: ["d"] }, await compacted(first, date));
	expect(await add(later)).toMatchObject({ read: keysOf(later).slice(1) });
	expect(await counts()).toEqual([
		[date, 9, 9],
		[other, 3, 3],
	]);
	// Merged with an object that no Run has loaded. Its own events are others here, so that the table shows who was read.
	const grown = await next({ [other]: ["e"] }, first);
	const merged = await next({ [other]: ["f"] });
	const [object] = merged.dates[0]!.objects as [ManifestObject];
	const name = outputName(keysOf(grown, other).map(nameIn).sort());
	const output = {
		...object,
		key: `events/date=${other}/${name}`,
		inputs: 2,
	};
	const dates = [{ ...merged.dates[0]!, objects: [output] }];
	expect(await add({ ...merged, dates })).toMatchObject({ addedRows: 3 });
	expect(await counts()).toEqual([
		[date, 9, 9],
		[other, 3, 3],
	]);
});

test("a Run that another one overtakes between its plan and its transaction replaces the day", async () => {
	const { next, add, scheduled, store, counts } = await scene();
	const first = await next({ [date]: ["a"] });
	await add(first);
	const second = await next({ [date]: ["b"] }, first);
	const overtaking = await next({ [date]: ["c"] }, second);
	// The same snapshot: a Run with an older one would end with Superseded.
	const overtaken = { ...second, snapshotTime: overtaking.snapshotTime };
	const [, key] = keysOf(second) as [string, string];
	store.disturb(key, (response) => {
		void scheduled(overtaking).then(() => response.writeHead(503).end());
	});
	const end = await scheduled(overtaken);
	expect(end.exitCode, end.log).toBe(0);
	expect(end.log).toContain("replacing the days as a whole");
	expect(await counts()).toEqual([[date, 6, 6]]);
	expect((await add({ ...overtaking, run: "again" })).read).toHaveLength(1);
	expect(await counts()).toEqual([[date, 9, 9]]);
});

function nameIn(key: string): string {
	return key.slice(key.lastIndexOf("/") + 1);
}
