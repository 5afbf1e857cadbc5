// In make test: test/data-plane/warehouses/duckdb.laptop.test.ts
import { expect, onTestFinished, test } from "vitest";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import {
	ArchiveFixture,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import { duckDB } from "../support/fixtures/data-plane/conforming-warehouses.ts";
import {
	evolving,
	rowsOf,
} from "../support/fixtures/data-plane/evolving-days.ts";
import { importEvents } from "../support/fixtures/data-plane/imported-events.ts";
import { startServers } from "../support/servers/archive-servers.ts";

test("events that archive has released from quarantine or imported bring columns, and each is a row once", async () => {
	const servers = await startServers();
	onTestFinished(() => servers.stop());
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	const violations = JSON.stringify({
		...{ plan: "orders", version: "0".repeat(16), type: "paid" },
		violations: [{ kind: "UnplannedProperty" }],
	});
	await archive.publish([
		newEvent('{"n":1}', { sourceKey }),
		newEvent('{"n":"x","held":true}', {
			sourceKey,
			quarantined: true,
			violations,
		}),
	]);
	await archive.start({ maxAgeMs: 600_000 });
	const warehouse = await duckDB();
	const { run, found } = evolving(warehouse, { adds: true });
	const loaded = async () => {
		const uid = crypto.randomUUID();
		const asked = { account: "shop", sourceKey, run: uid };
		const answer = await archive.ask(asked);
		if (!answer.ok) throw new Error(answer.error.message);
		return run((await (await fetch(answer.url)).json()) as Manifest);
	};
	expect(await loaded()).toMatchObject({ jobs: 2, rows: 1 });
	expect(found).toEqual({ "/n": "Integer" });
	expect(
		await archive.askRelease({ operation: crypto.randomUUID() }),
	).toMatchObject({ ok: true, dates: [{ events: 1 }] });
	// The column of `n` stays what it was.
	expect(await loaded()).toMatchObject({ jobs: 2, rows: 2, rescuedRows: 1 });
	await importEvents(archive, Date.now() - 86_400_000, [
		'{"n":3,"imported":{"at":"2026-03-01"}}',
	]);
	expect(await loaded()).toMatchObject({ jobs: 2, rows: 3, rescuedRows: 1 });
	expect(await loaded()).toMatchObject({ jobs: 1, rows: 3, rescuedRows: 1 });
	expect(found).toEqual({
		"/n": "Integer",
		"/held": "Boolean",
		"/imported/at": "Date",
	});
	const names = ["body", "n", "held", "imported_at", "_rescued"];
	const rows = await rowsOf(warehouse, names);
	expect(rows.toSorted()).toEqual([
		['{"n":"x","held":true}', null, "true", null, '{"n":"x"}'],
		['{"n":1}', "1", null, null, null],
		['{"n":3,"imported":{"at":"2026-03-01"}}', "3", null, "2026-03-01", null],
	]);
});
