// On a laptop nothing proves this: it is ClickHouse's alone, and `make test` loads DuckDB and Postgres.
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LoadInput } from "../../packages/contracts/job.ts";
import type {
	Manifest,
	ManifestErasure,
} from "../../packages/contracts/manifest.ts";
import { clickHouseFixture } from "../support/fixtures/data-plane/clickhouse-fixture.ts";
import { later } from "../support/fixtures/data-plane/conforming-days.ts";
import { eventsOf } from "../support/fixtures/data-plane/load-fixture.ts";
import {
	type ClickHouseServer,
	startClickHouse,
} from "../support/servers/clickhouse/server.ts";
import { hasPython } from "../support/servers/python.ts";

/* The engine's own row policies, which its configuration has: the server hides rows of one database, and shows all of another. */

const isHere = await hasPython();
let server: ClickHouseServer;
beforeAll(async () => {
	const policies = { shop_0: "event_id != '2026-03-01-a-1'", shop_1: "1" };
	if (isHere) server = await startClickHouse({ policies });
});
afterAll(() => server?.stop());

const day = "2026-03-01";

test.skipIf(!isHere)(
	"an Erase and a Run are refused where a row policy hides rows, and go on where one shows all",
	async () => {
		for (const isHidden of [true, false]) {
			const { database, load, manifest } = await clickHouseFixture(server);
			const told = async (days: Manifest, input: Partial<LoadInput> = {}) => {
				const { result } = await load(later(days), input);
				return JSON.stringify(result);
			};
			const days = await manifest({ [day]: [eventsOf(day, 3, "a")] });
			const first = await told(days);
			expect(first).toContain('"outcome":"Succeeded"');
			const erasing = async (what: Partial<ManifestErasure>) => ({
				...(await manifest({ "2026-03-03": [] })),
				asked: { extent: "Chosen" as const },
				erasures: {
					asked: 1,
					others: [
						{ mode: "RemoveRow" as const, before: "2026-03-02", ...what },
					],
				},
			});
			const more = await manifest({ [day]: [eventsOf(day, 4, "a")] });
			const refused = /"RowsHidden".*hides 1 rows of table orders.*USING 1 TO/s;
			const succeeded = /"outcome":"Succeeded"/;
			const end = isHidden ? refused : succeeded;
			for (const how of [{ adds: true as const }, {}])
				expect(await told(more, how)).toMatch(end);
			const total = () =>
				server.rows(
					`SELECT toUInt32(total_rows) FROM system.tables WHERE name = 'orders' AND database = '${database}'`,
				);
			expect(await total()).toEqual([[isHidden ? 3 : 4]]);
			for (const what of [
				{ match: { bodyPointer: "/index", equalsNumber: "1" } },
				{ eventIDs: [`${day}-a-2`] },
			])
				expect(await told(await erasing(what))).toMatch(end);
			expect(await total()).toEqual([[isHidden ? 3 : 2]]);
		}
	},
);
