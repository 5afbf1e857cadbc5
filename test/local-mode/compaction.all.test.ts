// In make test: test/data-plane/compaction.laptop.test.ts
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { ArchiveFixture } from "../support/fixtures/data-plane/archive-fixture.ts";
import {
	CompactionFixture,
	dateOf,
} from "../support/fixtures/data-plane/compaction-fixture.ts";
import { openLake } from "../support/fixtures/data-plane/lake.ts";
import {
	type LoadFixture,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";
import {
	startReceiver,
	TestRoutes,
	untilReady,
} from "../support/fixtures/data-plane/receiver.ts";
import { send } from "../support/senders/http-client.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

const webhooks = 40;

/** Sends webhooks one by one, so that each becomes a cut. Returns the ids and bodies that the table must have. */
async function sendWebhooks(archive: ArchiveFixture) {
	const routes = new TestRoutes(archive.connection);
	const { sourceKey, shard } = archive;
	const { path } = await routes.add({ sourceKey, shard });
	await routes.markSynced();
	const receiver = await startReceiver(servers.nats);
	await untilReady(receiver);
	const sent: [string, string][] = [];
	for (let n = 0; n < webhooks; n++) {
		const body = JSON.stringify({ n, text: "ä".repeat(n * 10) });
		const headers = { "content-type": "application/json" };
		const { json } = await send(receiver.url + path, { headers, body });
		sent.push([json.event_id, body]);
	}
	await receiver.stop();
	return sent.sort();
}

test("a day gives the same table before its compaction, after it, and while the replaced objects are removed", async () => {
	const archive = await ArchiveFixture.open(servers);
	const running = await archive.start({ maxBytes: 1 });
	const sent = await sendWebhooks(archive);
	await running.flush();
	const source = running.shard.index.source("shop", archive.sourceKey)!;
	// The day with the most, should midnight be among them.
	const [date] = [...source.objects].sort(
		(a, b) => b[1].count - a[1].count,
	)[0]!;
	const fixture = new CompactionFixture(archive, running, { date });

	const loadInto = async (warehouse: LoadFixture, manifest: Manifest) => {
		const { exitCode, log } = await warehouse.load(manifest);
		expect(exitCode, log).toBe(0);
		return warehouse.rows("select event_id, body from orders order by 1");
	};
	const warehouse = await loadFixture();
	const load = (manifest: Manifest) => loadInto(warehouse, manifest);
	const before = await fixture.manifest();
	expect(dateOf(before, date).objects.length).toBeGreaterThan(1);
	expect(await load(before)).toEqual(sent);

	const compactor = fixture.compactor();
	// Nothing more will come: the day may be taken for closed.
	await compactor.compact(0, fixture.due(), fixture.signal);
	const after = await fixture.manifest();
	expect(dateOf(after, date).objects).toHaveLength(1);
	expect(await load(after)).toEqual(sent);
	// A Run that began before, of another table: this one has newer data.
	expect(await loadInto(await loadFixture(), before)).toEqual(sent);

	await fixture.recordedDaysAgo(2);
	const [, rows] = await Promise.all([
		compactor.look(Date.now(), fixture.signal),
		fixture.manifest().then(load),
	]);
	expect(rows).toEqual(sent);
	expect(await fixture.names()).toHaveLength(1);
	expect(await load(await fixture.manifest())).toEqual(sent);
	const lake = await openLake(archive);
	expect(await lake.bodies()).toEqual(sent.map(([, body]) => body).sort());
});
