import { expect } from "vitest";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import { bigQueryFixture } from "../../support/fixtures/data-plane/bigquery-fixture.ts";
import {
	columns,
	eventsOf,
} from "../../support/fixtures/data-plane/load-fixture.ts";

const table = "select * from shop.orders order by all";
const oldDays = [
	["2026-03-01", "old", 3],
	["2026-03-02", "old", 3],
];
/**
 * One uploads to BigQuery, the other to a bucket. `second`: events of the second day. `states`: rows that the table may have
 * on the way, the last one afterwards.
 */
const strategies = {
	Incremental: {
		columns,
		strategy: "Incremental",
		second: 0,
		states: [
			oldDays,
			[
				["2026-03-01", "new", 5],
				["2026-03-02", "old", 3],
			],
			[["2026-03-01", "old", 3]],
			[["2026-03-01", "new", 5]],
		],
	},
	FullReload: {
		columns: columns.slice(0, 3),
		strategy: "FullReload",
		stagingBucket: "staging",
		second: 2,
		states: [
			oldDays,
			[
				["2026-03-01", "new", 5],
				["2026-03-02", "new", 2],
			],
		],
	},
} as const;

/** Labels that people set in BigQuery. */
const theirs = { owner: "ada" };

/** A table with two old days, and a Run that replaces them. */
async function replacement(name: keyof typeof strategies) {
	const fixture = await bigQueryFixture();
	const { double } = fixture;
	const { strategy, columns, second, states, ...bucket } = strategies[name];
	double.buckets.create("staging");
	const input = {
		destination: {
			...fixture.destination,
			...bucket,
			storageEndpoint: double.endpoint,
		},
		strategy,
		table: { name: "orders", description: "", columns },
	};
	/** In this process, which is sooner. */
	const load = async (manifest: Manifest) => {
		const { exitCode, log } = await fixture.load(manifest, { input });
		expect(exitCode, log).toBe(0);
		// The double waits for all that may still arrive of a killed process.
		double.closeIdle();
	};
	await load(
		await fixture.manifest({
			"2026-03-01": [eventsOf("2026-03-01", 3, "old")],
			"2026-03-02": [eventsOf("2026-03-02", 3, "old")],
		}),
	);
	const orders = {
		projectId: double.projectId,
		datasetId: "shop",
		tableId: "orders",
	};
	double.warehouse.patchTable(orders, { labels: theirs }, undefined);
	const next = await fixture.manifest({
		"2026-03-01": [eventsOf("2026-03-01", 5, "new")],
		"2026-03-02": second > 0 ? [eventsOf("2026-03-02", second, "new")] : [],
	});
	return {
		...fixture,
		input,
		load,
		next,
		states,
		labels: () => double.warehouse.require(orders).labels,
	};
}

const days =
	"select timestamp::date::text, body->>'tag', count(*)::int from shop.orders group by all order by all";

/** Says of a request whether the load is killed at it, and of how many have been asked, this one included. */
export type Strike = (
	request: { method: string; path: string },
	asked: number,
) => boolean;

/**
 * Kills loads, each by the next strike, until one isn't struck or there are no more strikes. Returns how many were killed. BigQuery
 * carries out the last request although nobody hears the answer, so each state that a kill can leave occurs once.
 */
export async function killedBy(
	strategy: keyof typeof strategies,
	strikes: Iterable<Strike>,
): Promise<number> {
	const { double, input, next, states, start, load, rows, labels } =
		await replacement(strategy);
	const before = await rows(table);
	let killed = 0;
	for (const strike of strikes) {
		const manifest = { ...next, run: `${next.run}-${killed}` };
		const { process, finish } = await start(manifest, { input });
		let asked = 0;
		double.onRequest = (request) => {
			if (strike(request, ++asked)) process.child.kill("SIGKILL");
			return undefined;
		};
		const { exitCode } = await finish();
		double.onRequest = () => undefined;
		await double.settled();
		if (exitCode === 0) break;
		killed++;
		expect(states).toContainEqual(await rows(days));
		await load(manifest);
		expect(await rows(days)).toEqual(states.at(-1));
		expect(double.warehouse.tableNames()).toEqual(["shop.orders"]);
		expect(double.buckets.names("staging")).toEqual([]);
		expect(labels()).toMatchObject(theirs);
		await rows("delete from shop.orders");
		for (const row of before)
			await rows(
				`insert into shop.orders values (${row.map((value) => `'${value}'`).join(", ")})`,
			);
	}
	return killed;
}
