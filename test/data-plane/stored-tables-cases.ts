import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, afterEach, expect, onTestFinished, test, vi } from "vitest";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { ArchiveFixture } from "../support/fixtures/data-plane/archive-fixture.ts";
import { importEvents } from "../support/fixtures/data-plane/imported-events.ts";
import {
	eventOf,
	inputs,
	manifestOf,
	second,
} from "../support/fixtures/data-plane/stored-scene.ts";
import { readState } from "../support/fixtures/data-plane/stored-state.ts";
import {
	type RestoringServers,
	restoringWarehouses,
} from "../support/fixtures/data-plane/stored-tables.ts";
import { startServers } from "../support/servers/archive-servers.ts";
import { startClickHouse } from "../support/servers/clickhouse/server.ts";
import { startPostgres } from "../support/servers/postgres.ts";
import type { TestServer } from "../support/servers/test-server.ts";

/*
 * Tables that an earlier version has loaded, with its marks and records, beside the bucket and the NATS that they came from: today's
 * Runs go on with them. stored-scene.ts says what is in them.
 */

const corpus = join(import.meta.dirname, "../support/corpus/stored-state");

const expected = {
	orders:
		"dispute1 import1 odd1 odd2 paid1 paid2 paid3 paid4 refund1 sent1 sent3",
	orders_of_paid: "paid1 paid2 paid3 paid4",
	orders_of_sent: "sent1 sent3",
	orders_of_other: "dispute1 import1 odd1 odd2 refund1",
};

function lazyServers(): RestoringServers {
	const started: Promise<TestServer>[] = [];
	afterAll(async () => {
		for (const server of await Promise.all(started)) await server.stop();
	});
	const once = <Server extends TestServer>(start: () => Promise<Server>) => {
		let server: Promise<Server> | undefined;
		return () => {
			if (server !== undefined) return server;
			server = start();
			started.push(server);
			return server;
		};
	};
	return {
		postgres: once(() => startPostgres()),
		clickHouse: once(() => startClickHouse()),
	};
}

/** @param types of warehouses. */
export function goesOnWithTables(types: string[]): void {
	const servers = lazyServers();
	afterEach(() => void vi.unstubAllEnvs());
	test.each(types)(
		"%s: a Run adds to the tables that commit 13f69744 has loaded what came since, once, and replaces nothing",
		async (type) => {
			const stores = await startServers();
			onTestFinished(() => stores.stop());
			const state = await readState(join(corpus, "13f69744.json.gz"));
			const archive = await ArchiveFixture.restore(stores, state);
			const { flush } = await archive.start();
			await flush();
			const warehouse = await restoringWarehouses[type]!(servers);
			await warehouse.restore(state.tables![type]);
			const tagsOf = async (table: string) => {
				const rows = await warehouse.rows(
					`SELECT tag FROM ${table} ORDER BY tag`,
				);
				return rows.flat().join(" ");
			};
			const expectTables = async (also: string) => {
				for (const [table, tags] of Object.entries(expected)) {
					const isMeant = /^orders(_of_other)?$/.test(table);
					const all = [...tags.split(" "), ...(isMeant ? also.split(" ") : [])];
					expect(await tagsOf(table), table).toBe(
						all.filter(Boolean).sort().join(" "),
					);
				}
			};
			await expectTables("");

			const load = async (manifest: Manifest) => {
				const results = [];
				for (const input of inputs) {
					const end = await warehouse.load(manifest, { input });
					expect(end.exitCode, JSON.stringify(end.result)).toBe(0);
					results.push(end.result);
				}
				return results;
			};
			const added = (rows: number, unchangedDates: number) =>
				// BigQuery doesn't say what a table holds, so its dates are replaced.
				inputs.map(() =>
					type === "BigQuery"
						? { outcome: "Succeeded" }
						: { outcome: "Succeeded", addedRows: rows, unchangedDates },
				);
			const still = await load(await manifestOf(archive, 6));
			expect(still).toMatchObject(added(0, 3));
			for (const result of still)
				expect(result).not.toHaveProperty("repairedDates");
			await expectTables("");

			await archive.askRelease({
				operation: randomUUID(),
				filter: { types: ["kept"] },
			});
			const event = eventOf(second, "import2");
			await importEvents(archive, event.receivedAtMs, [String(event.body)]);
			const next = await load(await manifestOf(archive, 7));
			expect(next).toMatchObject(added(2, 2));
			for (const result of next)
				expect(result).not.toHaveProperty("repairedDates");
			await expectTables("import2 kept1");
			expect(await tagsOf("orders_latest")).toBe(await tagsOf("orders"));
			expect(
				await warehouse.rows("SELECT value FROM orders_rejected").then(String),
			).toMatch(/much/);
			expect(
				await warehouse.rows("SELECT body FROM orders_quarantine"),
			).toEqual([]);
		},
	);
}
