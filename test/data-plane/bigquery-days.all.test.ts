import { readdirSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import type { LoadInput } from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import {
	columns,
	eventsOf,
} from "../support/fixtures/data-plane/load-fixture.ts";

const dates = ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"];
const perDay =
	"select timestamp::date::text, string_agg(distinct body->>'tag', ',' order by body->>'tag'), count(*)::int from shop.orders group by all order by all";

const fullReload: Partial<LoadInput> = {
	strategy: "FullReload",
	table: { name: "orders", description: "", columns: columns.slice(0, 3) },
};

async function scene() {
	const fixture = await bigQueryFixture();
	const { manifest, load, store } = fixture;
	return {
		...fixture,
		/** A manifest with two objects of these tags for each date. */
		days: (...tags: string[]) =>
			manifest(
				Object.fromEntries(
					dates.map((date) => [
						date,
						tags.map((tag) => eventsOf(date, 2, tag)),
					]),
				),
			),
		/** Loads, and returns the result with the dates of the objects that it read. */
		async run(days: Manifest, input: Partial<LoadInput>) {
			const before = store.requests.length;
			const { exitCode, result, log } = await load(days, {
				input: { ...input, run: runOf(days) },
			});
			const read = store.requests
				.slice(before)
				.map((key) => /date=([\d-]+)/.exec(key)?.[1])
				.filter((date) => date !== undefined);
			return { exitCode, result, log, read: [...new Set(read)].toSorted() };
		},
	};
}

function runOf({ run }: Manifest): LoadInput["run"] {
	return { name: "run", uid: run, account: "shop", pipeline: "p" };
}

/** As S3 answers a link that has expired. */
function expired(response: ServerResponse): void {
	response.statusCode = 403;
	response.end(
		"<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>",
	);
}

test("the objects of one day at a time are on the scratch volume, and nothing stays there", async () => {
	const { days, run, rows, store, scratch } = await scene();
	const seen: string[][] = [];
	store.onRequest = (key) => {
		const asked = /date=([\d-]+)/.exec(key)?.[1];
		if (asked === undefined) return;
		const files = readdirSync(scratch, { recursive: true }).map(String);
		const there = dates.filter((date) =>
			files.some((file) => file.includes(`/${date}-`)),
		);
		seen.push([...new Set([...there, asked])]);
	};
	const { exitCode, log } = await run(await days("a", "b"), {});
	expect(exitCode, log).toBe(0);
	expect(seen.toSorted()).toEqual(dates.flatMap((date) => [[date], [date]]));
	expect(readdirSync(scratch)).toEqual([]);
	expect(await rows(perDay)).toEqual(dates.map((date) => [date, "a,b", 4]));
});

test("if links expire on the way, the load with new ones goes on after the days that are done", async () => {
	const { days, run, rows, store } = await scene();
	expect((await run(await days("old"), {})).exitCode).toBe(0);
	const next = await days("new");
	store.disturb(next.dates[2]!.objects[0]!.key, expired);
	const failed = await run(next, {});
	expect(failed.result).toMatchObject({
		error: { code: "ManifestExpired", retryable: false },
	});
	expect((await rows(perDay)).map(([, tag]) => tag)).toEqual([
		"new",
		"new",
		"old",
		"new",
	]);
	const done = await run(next, {});
	expect(done.exitCode, done.log).toBe(0);
	expect(done.read).toEqual([dates[2]]);
	expect(await rows(perDay)).toEqual(dates.map((date) => [date, "new", 2]));
});

test("a full reload loads all days by one job into the table, and no other table is made", async () => {
	const { days, run, rows, double, scratch } = await scene();
	for (const tag of ["old", "new"]) {
		const before = double.jobs.all().length;
		const done = await run(await days(tag), fullReload);
		expect(done.exitCode, done.log).toBe(0);
		expect(await rows(perDay)).toEqual(dates.map((date) => [date, tag, 2]));
		expect(double.jobs.all().length - before).toBe(1);
	}
	expect(double.warehouse.tableNames()).toEqual(["shop.orders"]);
	expect(readdirSync(scratch)).toEqual([]);
});

test("a table that must be rebuilt stays as it is until every object has been checked", async () => {
	const { days, run, rows, store, double } = await scene();
	const { projectId } = double;
	await double.warehouse.createTable({
		tableReference: { projectId, datasetId: "shop", tableId: "orders" },
		schema: { fields: [{ name: "event_id", type: "STRING" }] },
	});
	await rows("insert into shop.orders by name select 'theirs' as event_id");
	const next = await days("new");
	const broken = next.dates[3]!.objects[0]!;
	store.put(broken.key, "x".repeat(broken.bytes));
	const rebuild = { rebuild: true, adopt: true } as const;
	const refused = await run(next, rebuild);
	expect(refused.result).toMatchObject({ error: { code: "ObjectMismatch" } });
	expect(await rows("select event_id from shop.orders")).toEqual([["theirs"]]);
	const whole = await run(await days("new"), rebuild);
	expect(whole.exitCode, whole.log).toBe(0);
	expect(await rows(perDay)).toHaveLength(dates.length);
});

test("a repeated Run says as often as the first which values don't fit their column", async () => {
	const { days, run } = await scene();
	const tag = {
		name: "tag",
		from: { bodyPointer: "/tag", type: "Integer" },
	} as const;
	const table = {
		name: "orders",
		description: "",
		columns: [...columns, tag],
	};
	const next = await days("a", "b");
	for (let attempt = 1; attempt <= 2; attempt++)
		expect((await run(next, { table })).result).toMatchObject({
			unfitValues: [{ column: "tag", rows: 16 }],
		});
});

test("events that were released leave the quarantine's table, and a day without others is emptied", async () => {
	const { days, run, rows } = await scene();
	const quarantineTable = { name: "apart", description: "", columns };
	const [own, held] = [await days("a"), await days("x", "y")];
	const apart = (changes: Partial<Manifest["dates"][0]>[]): Manifest => ({
		...own,
		run: crypto.randomUUID(),
		dates: own.dates.map((day, index) => {
			const { rows, objects } = held.dates[index]!;
			return { ...day, quarantine: { rows, objects }, ...changes[index] };
		}),
	});
	const first = await run(apart([]), { quarantineTable });
	expect(first.result).toMatchObject({ rows: 8, quarantinedRows: 16 });
	// On the first date one object was released, on the second both.
	const released = [1, 2].map((count, index) => {
		const day = own.dates[index]!;
		const copies = held.dates[index]!.objects.slice(0, count).map((object) => ({
			...object,
			released: true as const,
		}));
		return {
			rows: day.rows + 2 * count,
			objects: [...day.objects, ...copies],
		};
	});
	const again = apart(released);
	for (let attempt = 1; attempt <= 2; attempt++) {
		const { exitCode, result, log } = await run(again, { quarantineTable });
		expect(exitCode, log).toBe(0);
		expect(result).toMatchObject({ rows: 14, quarantinedRows: 10 });
		expect(
			await rows(
				"select date::text, string_agg(distinct body->>'tag' order by body->>'tag') from shop.apart group by all order by all",
			),
		).toEqual([
			["2026-03-01", "y"],
			["2026-03-03", "x,y"],
			["2026-03-04", "x,y"],
		]);
	}
});
