// In make test: test/promises/each-event-is-one-row.laptop.test.ts
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import { utcDate } from "../../../packages/contracts/utc-date.ts";
import {
	ArchiveFixture,
	eventually,
} from "../../support/fixtures/data-plane/archive-fixture.ts";
import {
	type Step,
	watched,
} from "../../support/fixtures/data-plane/compaction-fixture.ts";
import { loadFixture } from "../../support/fixtures/data-plane/load-fixture.ts";
import {
	announceArchive,
	startReceiver,
	TestRoutes,
	untilReady,
} from "../../support/fixtures/data-plane/receiver.ts";
import { sendJSON } from "../../support/senders/http-client.ts";
import {
	type Servers,
	startServers,
} from "../../support/servers/archive-servers.ts";

/* An archive is killed in the middle of a release. Operator asks again, and another archive answers. */

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

const today = utcDate(Date.now());
type Death = ["before" | "after", Step, number];

/** The archive that dies at this step does nothing any more. Returns whether it has died. */
async function startMortal(archive: ArchiveFixture, death: Death) {
	let isDead = false;
	const running = await archive.start({
		maxAgeMs: 600_000,
		wrapFileStore: (store) =>
			watched(store, async (...now) => {
				isDead ||= String(now) === String(death);
				if (isDead) throw new Error("dead");
			}),
	});
	return { running, isDead: () => isDead };
}

async function manifestOf(archive: ArchiveFixture, sourceKey: string) {
	const run = randomUUID();
	const answer = await archive.ask({ run, account: "shop", sourceKey });
	if (!answer.ok) throw new Error(answer.error.message);
	return (await (await fetch(answer.url)).json()) as Manifest;
}

test("from the sender to the table: an event in quarantine becomes a row with its id and date, though the archive is killed", async () => {
	const archive = await ArchiveFixture.open(servers, 0);
	await announceArchive(archive.connection, 3);
	const routes = new TestRoutes(archive.connection);
	await routes.markSynced();
	const receiver = await startReceiver(servers.nats);
	onTestFinished(() => receiver.stop());
	await untilReady(receiver);
	const plan = await routes.putPlan({
		version: 1,
		account: "shop",
		plan: "orders",
		eventType: { constant: "order" },
		events: [{ type: "order", schema: { required: ["id"] } }],
		onUnplannedEvent: "Annotate",
		onViolation: "Quarantine",
		onUnplannedProperty: "Allow",
	});
	const { path, route } = await routes.add({ plan });
	const send = (body: string): Promise<string> =>
		eventually(async () => {
			const { status, json } = await sendJSON(receiver.url + path, body);
			if (status !== 200) throw new Error(json.error.code);
			return json.event_id;
		});
	const kept = await send('{"id":1}');
	const apart = await send('{"no":1}');
	const { sourceKey } = route;
	const load = await loadFixture();
	const loaded = async () => {
		const { result } = await load.load(await manifestOf(archive, sourceKey));
		expect(result).toMatchObject({ outcome: "Succeeded" });
		return load.rows(
			"SELECT event_id, body, date::VARCHAR FROM orders ORDER BY body",
		);
	};
	const mortal = await startMortal(archive, ["after", "putNew", 1]);
	expect(await loaded()).toEqual([[kept, '{"id":1}', today]]);
	const question = { operation: randomUUID(), sourceKey };
	await archive.askRelease(question);
	expect(mortal.isDead()).toBe(true);
	await mortal.running.stop();
	await archive.start({ maxAgeMs: 600_000 });
	expect(await archive.askRelease(question)).toMatchObject({ ok: true });
	expect(await loaded()).toEqual([
		[kept, '{"id":1}', today],
		[apart, '{"no":1}', today],
	]);
});
