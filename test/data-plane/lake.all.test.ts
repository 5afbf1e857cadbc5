// In make test: ingest/lake/lists/lister.test.ts
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { dayMs, utcDate } from "../../packages/contracts/utc-date.ts";
import { clientOf } from "../support/doubles/bigquery/client.ts";
import { startBigQueryDouble } from "../support/doubles/bigquery/server.ts";
import { startArchiveProcess } from "../support/faults/archive-process.ts";
import { passingDirectory } from "../support/faults/passing-directory.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import {
	CompactionFixture,
	closedDate,
	watched,
} from "../support/fixtures/data-plane/compaction-fixture.ts";
import { importEvents } from "../support/fixtures/data-plane/imported-events.ts";
import { lakePage, openLake } from "../support/fixtures/data-plane/lake.ts";
import { bodiesIn } from "../support/fixtures/data-plane/manifest-bodies.ts";
import { S3Proxy } from "../support/proxies/s3-proxy.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";
import { httpfsExtension } from "../support/servers/duckdb-extension.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

test("the queries of docs/lake.md give the events that were archived", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { flush } = await archive.start();
	const { sourceKey } = archive;
	const order = '{"type":"order.created","data":{"amount":12.5}}';
	const receivedAtMs = Date.now();
	const of = { account: "default", sourceKey, receivedAtMs };
	await archive.publish([newEvent(order, of), newEvent('{"type":"x"}', of)]);
	// One odd event breaks nobody's query.
	await archive.publish([
		newEvent(String.raw`{"type":"order.created","cut":"\ud83c"}`, of),
		newEvent(String.raw`{"type":"x\u0000","n":1e400}`, of),
	]);
	await flush();
	await archive.publish([newEvent("[]", of), newEvent("1", { receivedAtMs })]);
	await flush();

	await archive.writeLists();
	const lake = await openLake(archive);
	await lake.look();
	const [perDay, fields] = lake.queries;
	const date = utcDate(receivedAtMs);
	expect(await lake.rows(perDay!)).toEqual([
		{ account: "default", source: sourceKey, date, events: "5" },
		{ account: "shop", source: "5a".repeat(16), date, events: "1" },
	]);
	expect(await lake.rows(fields!)).toMatchObject([
		{ type: "order.created", amount: "12.5" },
	]);
});

/** DuckDB, which reads the bucket by the store's API, word for word as docs/lake.md says. */
async function openByS3(archive: ArchiveFixture, extension: string) {
	const { sql } = lakePage(servers.s3, archive.prefix);
	const [prepare, find] = sql;
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	onTestFinished(() => {
		connection.closeSync();
		instance.closeSync();
	});
	await connection.run(`LOAD '${extension}'`);
	await connection.run(prepare!.replace(/^INSTALL.*/, ""));
	return {
		look: async () => void (await connection.run(find!)),
		bodies: async () => {
			const query = "SELECT body FROM read_parquet(getvariable('events'))";
			const found = await connection.runAndReadAll(query);
			return found.getRows().flat().map(String).sort();
		},
	};
}

test("DuckDB finds each event once through S3 at every moment of a compaction, by lists of before and of now", async (context) => {
	const extension = await httpfsExtension();
	if (!extension) return context.skip("there is no Python 3 with venv");
	const fixture = await CompactionFixture.open(servers);
	const { archive, bodies, signal } = fixture;
	await archive.writeLists();
	const early = await openByS3(archive, extension);
	await early.look();
	const now = await openByS3(archive, extension);
	let moments = 0;
	const everybodyFindsAll = async () => {
		moments++;
		// Archive hasn't looked after the lists since, and then it has.
		await now.look();
		expect(await now.bodies()).toEqual(bodies);
		await archive.writeLists();
		await now.look();
		expect(await now.bodies()).toEqual(bodies);
		expect(await early.bodies()).toEqual(bodies);
	};
	let failure: unknown;
	const compactor = fixture.compactor({
		wrapStore: (store) =>
			watched(store, async (_, step, count) => {
				// Reading changes nothing, so one moment of it is enough.
				if (step === "getFile" && count > 1) return;
				await everybodyFindsAll().catch((error) => {
					failure ??= error;
				});
			}),
	});
	await compactor.look(Date.now(), signal);
	expect((await fixture.record())?.outputs).toHaveLength(1);
	await everybodyFindsAll();
	expect(failure).toBeUndefined();
	expect(moments).toBeGreaterThan(5);

	await fixture.recordedDaysAgo(2);
	await compactor.look(Date.now(), signal);
	expect(await fixture.names()).toHaveLength(1);
	await now.look();
	expect(await now.bodies()).toEqual(bodies);
});

test("imported and released events stand in the lists, as in a table, and quarantine doesn't", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { flush } = await archive.start();
	const { sourceKey } = archive;
	const held = (body: string, daysAgo: number, type: string) =>
		newEvent(body, {
			sourceKey,
			quarantined: true,
			receivedAtMs: Date.now() - daysAgo * dayMs,
			violations: JSON.stringify({
				plan: "orders",
				version: "0".repeat(16),
				type,
				violations: [{ kind: "TypeMismatch" }],
			}),
		});
	await archive.publish([
		newEvent('"received"', { sourceKey }),
		held('"released"', 2, "paid"),
		held('"kept apart"', 2, "lost"),
		held('"released today"', 0, "paid"),
	]);
	await flush();
	const lake = await openLake(archive);
	expect(await lake.bodies()).toEqual(['"received"']);
	await archive.askRelease({ operation: "o1", filter: { types: ["paid"] } });
	// On a date that has nothing else.
	await importEvents(archive, Date.now() - 20 * dayMs, ['"i1"', '"i2"']);
	const all = ['"i1"', '"i2"', '"received"', '"released today"', '"released"'];
	expect(await lake.bodies()).toEqual(all.sort());
	await importEvents(archive, Date.now() - 20 * dayMs, ['"i3"']);
	expect(await lake.bodies()).toEqual([...all, '"i3"'].sort());

	const answer = await archive.ask({ run: "r", account: "shop", sourceKey });
	if (!answer.ok) throw new Error(answer.error.message);
	const manifest = (await (await fetch(answer.url)).json()) as Manifest;
	expect(await lake.bodies()).toEqual((await bodiesIn(manifest)).sort());
});

test("what a version without lists has stored, compacted or not, is listed beside what comes now", async () => {
	const fixture = await CompactionFixture.open(servers);
	const { archive, bodies, running, signal } = fixture;
	await fixture.compactor().look(Date.now(), signal);
	await fixture.recordedDaysAgo(2);
	await fixture.compactor().look(Date.now(), signal);
	expect(await fixture.names()).toHaveLength(1);
	await archive.publish([newEvent('"now"', { sourceKey: archive.sourceKey })]);
	await fixture.publish(9_000);
	await running.flush();
	const lake = await openLake(archive);
	expect(await lake.bodies()).toEqual([...bodies, '"now"'].sort());
	// Nothing has changed since.
	expect(await running.lister.look(Date.now(), signal)).toBe(0);
});

test("a list that is wrong, lost or of an archive that woke up late is right a day later", async () => {
	const fixture = await CompactionFixture.open(servers, 4);
	const { archive, bodies, running, signal } = fixture;
	const key = archive.keys.list(fixture.due(), archive.shard);
	await archive.writeLists();
	const late = (await archive.store.get(key))!;
	await fixture.compactor().look(Date.now(), signal);
	const lake = await openLake(archive);
	expect(await lake.bodies()).toEqual(bodies);
	const contents = [late, `${late}${late}`, undefined];
	for (const [days, content] of contents.entries()) {
		await archive.tamper(key, content);
		await running.lister.look(Date.now() + (days + 1) * dayMs, signal);
		expect(await lake.bodies()).toEqual(bodies);
		expect(await archive.store.get(key)).toContain("/compacted-");
	}
	expect(closedDate).toBe(fixture.due().date);
});

test("an archive that doesn't know all that is archived leaves the lists to the one that does", async () => {
	const fixture = await CompactionFixture.open(servers, 4);
	const { archive, running, signal } = fixture;
	// It knows the cuts so far, and waits for more frames than come.
	const second = await archive.start({ maxAgeMs: 600_000 });
	await second.flush();
	await fixture.publish(9_000);
	await running.flush();
	await running.lister.look(Date.now(), signal);
	const key = archive.keys.list(fixture.due(), archive.shard);
	const whole = await archive.store.get(key);
	expect(whole!.trim().split("\n")).toHaveLength(5);
	await second.lister.look(Date.now(), signal);
	expect(await archive.store.get(key)).toBe(whole);
});

test("a deleted source's lists go before its objects, and aren't written again", async () => {
	const fixture = await CompactionFixture.open(servers, 3);
	const { archive, running, signal } = fixture;
	await importEvents(archive, Date.now() - 3 * dayMs, ["1"]);
	await archive.writeLists();
	const lists = async () =>
		(await Array.fromAsync(archive.store.list(archive.keys.allLists()))).length;
	expect(await lists()).toBe(2);
	expect(await archive.askDeletion()).toMatchObject({ ok: true, isDone: true });
	expect(await lists()).toBe(0);
	expect(await running.lister.look(Date.now(), signal)).toBe(0);
	expect(await lists()).toBe(0);
});

test("an archive that may not write lists archives and compacts as ever, says so, and lists all once it may", async () => {
	const fixture = await CompactionFixture.open(servers, 8);
	const { archive, bodies } = fixture;
	await fixture.running.stop();
	const proxy = await S3Proxy.start(servers.s3);
	onTestFinished(() => proxy.close());
	proxy.disturb = ({ method, path }) =>
		method === "PUT" && path.includes("/lists/")
			? { status: 403, code: "AccessDenied" }
			: undefined;
	const { metrics, readyz } = await startArchiveProcess(archive, {
		ARCHIVE_LISTS_INTERVAL_MS: "100",
		ARCHIVE_COMPACTION_INTERVAL_MS: "100",
		ARCHIVE_SCRATCH: await passingDirectory("scratch"),
		S3_ENDPOINT: proxy.endpoint,
	});
	await eventually(async () =>
		expect(await metrics()).toMatch(/archive_list_failures_total [1-9]/),
	);
	const { sourceKey } = archive;
	await archive.publish([newEvent('"today"', { sourceKey })]);
	await eventually(async () =>
		expect(await archive.bodies()).toContain('"today"'),
	);
	await eventually(async () =>
		expect((await fixture.record())?.outputs).toHaveLength(1),
	);
	expect(await readyz()).toBe("ok\n");
	proxy.disturb = () => undefined;
	const lake = await openLake(archive);
	await eventually(async () => {
		await lake.look();
		expect(await lake.bodiesFound()).toEqual([...bodies, '"today"'].sort());
	});
});

test("BigQuery's double takes the statement of docs/lake.md, and finds each event once before, during and after a compaction", async () => {
	const fixture = await CompactionFixture.open(servers, 4);
	const { archive, bodies, signal } = fixture;
	const { bucket } = servers.s3;
	await importEvents(archive, Date.now() - 3 * dayMs, ['"imported"']);
	const source = `account=shop/source=${archive.sourceKey}`;
	const page = lakePage(servers.s3, archive.prefix, source);
	const double = await startBigQueryDouble();
	onTestFinished(() => double.close());
	const client = clientOf(double);
	const inTable = async (statement = page.bigQuery) => {
		// By the connection, BigQuery sees what the bucket has now.
		double.buckets.create(bucket);
		for await (const { key } of archive.store.list(archive.prefix)) {
			const link = await archive.store.presign(key, 60);
			const bytes = await (await fetch(link)).arrayBuffer();
			double.buckets.put(bucket, key, Buffer.from(bytes));
		}
		await client.createDataset("webhooks", { location: "aws-us-east-1" });
		try {
			await client.query({ query: statement, useLegacySql: false });
			const rows = await double.sql("SELECT body FROM webhooks.events");
			return rows.flat().map(String).sort();
		} finally {
			await client.dataset("webhooks").delete({ force: true });
		}
	};
	const all = [...bodies, '"imported"'].sort();
	await archive.writeLists();
	expect(await inTable()).toEqual(all);
	await fixture.compactor().look(Date.now(), signal);
	expect(await inTable()).toEqual(all);
	await archive.writeLists();
	await fixture.recordedDaysAgo(2);
	await fixture.compactor().look(Date.now(), signal);
	expect(await inTable()).toEqual(all);
	for (const [statement, message] of [
		[page.bigQuery.replace(/WITH CONNECTION.*\n/, ""), "connection is needed"],
		[page.bigQuery.replace("/*'", "/*/*.txt'"), "Invalid source URI"],
		[page.bigQuery.replace("file_set_spec_", "file_set_"), "Unknown option"],
		[page.bigQuery.replace(/,\s*file_set_spec_type.*/, ""), "reading data"],
	] as const)
		await expect(inTable(statement)).rejects.toThrow(message);
});
