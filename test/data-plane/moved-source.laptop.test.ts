import { randomUUID } from "node:crypto";
import { Kvm } from "@nats-io/kv";
import { expect, onTestFinished, test } from "vitest";
import { askArchive } from "../../operator/reconcile/archive-question.ts";
import {
	type SourceLedger,
	sumOfLedgers,
} from "../../packages/contracts/ledger.ts";
import type {
	Manifest,
	ManifestAnswer,
} from "../../packages/contracts/manifest.ts";
import { bucket, manifestSubject } from "../../packages/contracts/nats.ts";
import {
	type Route,
	routeKey,
	type SourceShards,
	shardsKey,
} from "../../packages/contracts/route.ts";
import { createLog } from "../../packages/service/log.ts";
import { republished } from "../../packages/streams/made-streams.ts";
import { readArchivedRows } from "../support/examples/archived-rows.ts";
import { startArchiveProcess } from "../support/faults/archive-process.ts";
import {
	ArchiveFixture,
	eventually,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import { openLake } from "../support/fixtures/data-plane/lake.ts";
import {
	connectAdmin,
	startReceiver,
	TestRoutes,
	untilReady,
} from "../support/fixtures/data-plane/receiver.ts";
import { sendJSON } from "../support/senders/http-client.ts";
import {
	brokenPromises,
	md5,
	newSent,
	type PlainRow,
	sendPersistently,
} from "../support/senders/persistent-sender.ts";
import { startServers } from "../support/servers/archive-servers.ts";

/** Two archives of one shard each, receive, and what the operator does. */
async function start() {
	const servers = await startServers();
	onTestFinished(() => servers.stop());
	const archive = await ArchiveFixture.open(servers, 0);
	const admin = await connectAdmin(servers.nats);
	onTestFinished(() => admin.close());
	const routes = new TestRoutes(admin);
	await routes.markSynced();
	const archiveOf = (shard: number) =>
		startArchiveProcess(archive, {
			ARCHIVE_SHARDS: String(shard),
			ARCHIVE_LISTS_INTERVAL_MS: "200",
		});
	const receiver = await startReceiver(servers.nats, {
		env: { TIDEMILL_SHARDS: "2" },
	});
	onTestFinished(() => receiver.kill());
	const moveTo = async (route: Route, shard: number) => {
		const sets = await new Kvm(admin).create(
			bucket.sourceKeys,
			republished(bucket.sourceKeys),
		);
		const shards = [...new Set([route.shard, shard])].sort();
		const set: SourceShards = { version: 1, shards };
		await sets.put(shardsKey(route.sourceKey), JSON.stringify(set));
		const bucketOfRoutes = await new Kvm(admin).open(bucket.routes);
		const moved = JSON.stringify({ ...route, shard });
		await bucketOfRoutes.put(routeKey(route.sourceKey), moved);
	};
	const manifestOf = async (
		{ account, sourceKey }: Route,
		shard: number,
	): Promise<PlainRow[]> => {
		const answer = await askArchive<ManifestAnswer>(
			{ nats: admin, log: createLog("test") },
			{ subject: manifestSubject(shard), shard },
			{ run: randomUUID(), account, sourceKey, extent: "Whole" },
			"NoAnswer",
			new AbortController().signal,
		);
		if (!answer.ok) throw new Error(answer.error.message);
		const manifest = (await (await fetch(answer.url)).json()) as Manifest;
		const rows: PlainRow[] = [];
		for (const { url } of manifest.dates.flatMap((day) => day.objects)) {
			const bytes = Buffer.from(await (await fetch(url)).arrayBuffer());
			for (const { event_id, body } of await readArchivedRows(bytes))
				rows.push({ event_id, digest: md5(body) });
		}
		return rows;
	};
	/** Of all shards. */
	const ledgersOf = async ({ sourceKey }: Route) => {
		const kv = await new Kvm(admin).open(bucket.ledger);
		const found: SourceLedger[] = [];
		for await (const key of await kv.keys([sourceKey, `${sourceKey}.*`]))
			found.push((await kv.get(key))!.json<SourceLedger>());
		return found;
	};
	return {
		archive,
		routes,
		archiveOf,
		receiver,
		moveTo,
		manifestOf,
		ledgersOf,
	};
}

test("a Source that moves to and fro is whole in each manifest, whichever shard is asked, while archives and receive die", async () => {
	const { archive, routes, archiveOf, receiver, moveTo, ...asked } =
		await start();
	const { manifestOf, ledgersOf } = asked;
	const archives = [await archiveOf(0), await archiveOf(1)];
	await untilReady(receiver);
	const { route, path } = await routes.add({ account: "shop", shard: 0 });
	const sent = newSent();
	let isOver = false;
	const ended = sendPersistently({
		urls: [receiver.url + path],
		senders: 2,
		body: (n) => JSON.stringify({ n }),
		isDone: () => isOver,
		sent,
		pauseMs: 10,
	});
	const untilMore = (events: number) => {
		const before = sent.acknowledged.size;
		return eventually(() =>
			expect(sent.acknowledged.size).toBeGreaterThan(before + events),
		);
	};
	const die = async (shard: number) => {
		const dying = archives[shard]!;
		dying.child.kill("SIGKILL");
		await dying.ended;
		archives[shard] = await archiveOf(shard);
	};
	/** All that was acknowledged before a manifest is in it. */
	const isWhole = async (shard: number) => {
		const due = [...sent.acknowledged.keys()];
		let rows: PlainRow[] = [];
		// An archive that has just begun says so, and operator repeats the question.
		await eventually(async () => {
			rows = await manifestOf(route, shard);
		});
		const found = new Set(rows.map(({ event_id }) => event_id));
		expect(found.size).toBe(rows.length);
		expect(due.filter((id) => !found.has(id))).toEqual([]);
	};
	const shardsOf = async () => {
		const { store } = archive;
		const found = new Set<string>();
		for await (const { key } of store.list(store.keys.eventsOfSource(route)))
			found.add(/frames-(\d+)-/.exec(key)![1]!);
		return [...found].sort();
	};

	await untilMore(20);
	await moveTo(route, 1);
	await untilMore(20);
	await isWhole(1);
	await isWhole(0);
	await die(0);
	await untilMore(20);
	await isWhole(1);
	await receiver.kill();
	await receiver.start();
	await moveTo({ ...route, shard: 1 }, 0);
	await untilMore(20);
	await die(1);
	await isWhole(0);
	isOver = true;
	await ended;
	for (const shard of [0, 1])
		expect(brokenPromises(await manifestOf(route, shard), sent)).toEqual([]);
	expect(await shardsOf()).toEqual(["0", "1"]);
	const { length } = await manifestOf(route, 0);
	const lake = await openLake(archive);
	await eventually(async () => {
		await lake.look();
		const ids = await lake.rows(
			"SELECT event_id FROM read_parquet(getvariable('events'))",
		);
		expect(ids).toHaveLength(length);
		expect(new Set(ids.map(({ event_id }) => event_id)).size).toBe(length);
	});
	await eventually(async () => {
		const ledgers = await ledgersOf(route);
		expect(ledgers.map(({ shard }) => shard).sort()).toEqual([0, 1]);
		const rows = Object.values(sumOfLedgers(ledgers)!.archived);
		expect(rows.reduce((sum, each) => sum + each, 0)).toBe(length);
	});
});

test("a sender's key that was used before a move is no second event after it", async () => {
	const { routes, archiveOf, receiver, moveTo, manifestOf } = await start();
	await Promise.all([archiveOf(0), archiveOf(1)]);
	await untilReady(receiver);
	const { route, path } = await routes.add({
		account: "shop",
		shard: 0,
		idempotency: { key: { header: "webhook-id" }, windowSeconds: 600 },
	});
	const send = (key: string) =>
		sendJSON(receiver.url + path, JSON.stringify({ key }), {
			headers: { "webhook-id": key },
		});
	const idOf = async (key: string): Promise<string> => {
		let id: string | undefined;
		await eventually(async () => {
			const { status, json } = await send(key);
			expect(status).toBe(200);
			id = json.event_id;
		});
		return id!;
	};
	const before = await idOf("before");
	await moveTo(route, 1);
	const keys = Array.from({ length: 30 }, (_, n) => `after-${n}`);
	const ids: string[] = [];
	for (const key of keys) ids.push(await idOf(key));
	expect(await idOf("before")).toBe(before);
	for (const [n, key] of keys.entries()) expect(await idOf(key)).toBe(ids[n]);
	const rows = await manifestOf(route, 1);
	expect(rows.map(({ event_id }) => event_id).sort()).toEqual(
		[before, ...ids].sort(),
	);
});
