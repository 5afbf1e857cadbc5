// In make test: test/promises/each-event-is-one-row.laptop.test.ts
import { randomUUID } from "node:crypto";
import { Kvm } from "@nats-io/kv";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import {
	type ReleasedLedger,
	releasedKey,
} from "../../../packages/contracts/ledger.ts";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import { bucket } from "../../../packages/contracts/nats.ts";
import {
	addDays,
	dayMs,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../../support/fixtures/data-plane/archive-fixture.ts";
import {
	type Step,
	watched,
} from "../../support/fixtures/data-plane/compaction-fixture.ts";
import { loadFixture } from "../../support/fixtures/data-plane/load-fixture.ts";
import { bodiesIn } from "../../support/fixtures/data-plane/manifest-bodies.ts";
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
const closed = addDays(today, -3);
/** Receive writes to the first shard. */
let shard = 1;

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

// An object for each of two dates is read, written and recorded. date-release.all.test.ts has the steps of one date.
test.each<Death>([
	["before", "putNewFile", 1],
	["after", "putNew", 1],
	["after", "putNewFile", 2],
	["after", "putNew", 2],
])(
	"a release whose archive is killed %s %s number %i makes each event one row, and counts it once",
	async (...death) => {
		const archive = await ArchiveFixture.open(servers, shard++);
		const { sourceKey } = archive;
		const apart = { sourceKey, quarantined: true } as const;
		await archive.publish([
			newEvent('"old"', { ...apart, receivedAtMs: Date.now() - 3 * dayMs }),
			newEvent('"new"', apart),
			newEvent('"row"', { sourceKey }),
		]);
		const mortal = await startMortal(archive, death);
		const operation = randomUUID();
		expect(await archive.askRelease({ operation })).toMatchObject({
			ok: false,
			error: { retryable: true },
		});
		expect(mortal.isDead()).toBe(true);
		await mortal.running.stop();

		await archive.start({ maxAgeMs: 600_000 });
		const dates = [
			{ date: closed, events: 1 },
			{ date: today, events: 1 },
		];
		for (let times = 0; times < 2; times++)
			expect(await archive.askRelease({ operation })).toEqual({
				ok: true,
				dates,
			});
		expect(await archive.askRelease({ operation: randomUUID() })).toEqual({
			ok: true,
			dates: [],
		});
		const manifest = await manifestOf(archive, sourceKey);
		expect((await bodiesIn(manifest)).sort()).toEqual([
			'"new"',
			'"old"',
			'"row"',
		]);
		const kv = await new Kvm(archive.connection).open(bucket.ledger);
		const entry = await kv.get(releasedKey(sourceKey));
		expect(entry?.json<ReleasedLedger>().released).toEqual({
			[closed]: { events: 1, imported: 0, releases: 1 },
			[today]: { events: 1, imported: 0, releases: 1 },
		});
	},
);

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
