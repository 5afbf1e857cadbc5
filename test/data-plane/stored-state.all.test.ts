// On a laptop nothing proves this: servers of an earlier state take longer than a laptop's test may.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Kvm } from "@nats-io/kv";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { NatsProgress } from "../../ingest/archive/write/nats-progress.ts";
import type { SourceLedger } from "../../packages/contracts/ledger.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import { ArchiveFixture } from "../support/fixtures/data-plane/archive-fixture.ts";
import { openLake } from "../support/fixtures/data-plane/lake.ts";
import { bodiesIn } from "../support/fixtures/data-plane/manifest-bodies.ts";
import { send } from "../support/fixtures/data-plane/stored-scene.ts";
import { readState } from "../support/fixtures/data-plane/stored-state.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";

/*
 * What an earlier version has stored in NATS and in the bucket, under the names that it had, and what this version makes of it.
 * The state has a compacted date; one with quarantine, of which an event was released; a Source that keeps its events forever,
 * and one that was deleted; a Run's manifest; a snapshot of the ledger; and a frame that isn't archived yet.
 */

const corpus = join(import.meta.dirname, "../support/corpus/stored-state");
const releasedId = "019cac7d-0380-7133-86c5-7108d5339cfd";
const received = ["1a", "1b", "2a", "2b", "3a", "3b"].map(
	(name) => `compacted ${name}`,
);
const loaded = [...received, "accepted 1", "accepted 2", "released"];

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(async () => {
	await servers?.stop();
});

/** Texts of the events that a Run loads. */
async function textsOf(archive: ArchiveFixture, run: string, renew = false) {
	const { sourceKey } = archive;
	const answer = await archive.ask({ run, account: "shop", sourceKey, renew });
	if (!answer.ok) throw new Error(answer.error.message);
	const manifest = (await (await fetch(answer.url)).json()) as Manifest;
	const texts = (await bodiesIn(manifest)).map((body) => JSON.parse(body));
	return { answer, texts: texts.sort(), manifest };
}

test("what version 0.1 stored is read, answered for and gone on with", async () => {
	const state = await readState(join(corpus, "0.1.json"));
	const archive = await ArchiveFixture.restore(servers, state);
	const { connection, sourceKey } = archive;
	const { flush, shard, lister } = await archive.start();
	await flush();

	expect(shard.alarm).toBeUndefined();
	const before = await textsOf(archive, "run-1", true);
	expect(before.texts).toEqual(loaded.sort());
	const { answer, texts, manifest } = await textsOf(archive, "run-2");
	expect(texts).toEqual(loaded.sort());
	expect(answer).toMatchObject({
		firstEventDate: "2026-03-01",
		dates: { start: "2026-03-01" },
	});
	expect(manifest.dates.filter(({ rows }) => rows > 0)).toMatchObject([
		{ date: "2026-03-01", rows: 6, objects: [{ rows: 6, inputs: 3 }] },
		{ date: "2026-03-02", rows: 3 },
	]);

	// The frame's event came to a date that was closed long ago, so no Run loads it; it is stored, and listed.
	const listed = await archive.askEvents();
	if (!listed.ok) throw new Error(listed.error.message);
	const states = Object.groupBy(listed.events, ({ state: is }) => is);
	expect(states.accepted).toHaveLength(9);
	expect(states.released).toHaveLength(1);
	expect(states.quarantined).toHaveLength(1);
	expect(await archive.askEvent(releasedId)).toMatchObject({
		ok: true,
		event: { state: "released", type: "paid" },
	});
	expect(await archive.askRetention(0)).toMatchObject({
		ok: true,
		retention: { days: 0, from: "1970-01-01" },
	});
	const other = "dd".repeat(16);
	expect(shard.index.source("shop", other)).toBeUndefined();
	const events = await archive.askEvents({}, { sourceKeys: [other] });
	expect(events).toEqual({ ok: true, events: [] });

	const progress = await NatsProgress.open(connection, 1);
	expect(await progress.objectsDone(archive.stream)).toBe(6);
	const ledgers = await new Kvm(connection).open(bucket.ledger);
	const ledger = await ledgers.get(sourceKey);
	expect(ledger?.json<SourceLedger>()).toMatchObject({
		sourceKey,
		firstEventDate: "2026-03-01",
		lastEventTime: "2026-03-02T06:00:00.000Z",
	});
	expect((await ledgers.get(`released.${sourceKey}`))?.json()).toMatchObject({
		released: { "2026-03-02": { events: 1 } },
	});
	expect((await ledgers.get(other))?.json()).toHaveProperty("deletedTime");

	// That version wrote no lists. By the ledgers of its dates, should the index have forgotten them, and then by what it holds.
	const lake = await openLake(archive);
	const { signal } = new AbortController();
	expect(await lister.lookBack(Date.now(), signal)).toBe(2);
	await lake.look();
	// What was released belongs to no date's ledger.
	const found = (await lake.bodiesFound()).map((body) => JSON.parse(body));
	expect(loaded).toEqual(expect.arrayContaining(found));
	expect(found).toHaveLength(loaded.length - 1);
	const all = (await lake.bodies()).map((body) => JSON.parse(body));
	expect(all).toEqual(expect.arrayContaining(loaded));
	expect(all).toHaveLength(loaded.length + 1);
	expect(await lister.lookBack(Date.now(), signal)).toBe(0);
});

test("what commit 13f69744 stored is read, answered for and gone on with", async () => {
	const servers = await startServers();
	onTestFinished(() => servers.stop());
	const state = await readState(join(corpus, "13f69744.json.gz"));
	const archive = await ArchiveFixture.restore(servers, state);
	const { flush, shard, lister } = await archive.start();
	// Its receive goes on with the routes that operator had written; the key was used hours ago or an event's earlier.
	await send(servers, state.hook!);
	await flush();
	expect(shard.alarm).toBeUndefined();

	const loaded =
		"dispute1 import1 odd1 odd2 paid1 paid2 paid3 paid4 refund1 sent1 sent3".split(
			" ",
		);
	const { manifest } = await textsOf(archive, randomUUID());
	const ofScene = manifest.dates.filter(({ date }) => date < "2026-03-04");
	const bodies = await bodiesIn({ ...manifest, dates: ofScene });
	const tags = bodies.map((body) => JSON.parse(body)?.tag);
	// What was erased is a row that no table has.
	expect(tags.filter(Boolean).sort()).toEqual(loaded);
	expect(ofScene).toMatchObject([
		{ date: "2026-03-01", objects: [{ inputs: 3 }, { rows: 1 }] },
		{ date: "2026-03-02", erased: { rows: 1 } },
		{ date: "2026-03-03" },
	]);

	const listed = await archive.askEvents();
	if (!listed.ok) throw new Error(listed.error.message);
	const states = Object.groupBy(listed.events, ({ state: is }) => is);
	expect(states.released).toHaveLength(2);
	expect(states.quarantined).toHaveLength(1);
	expect(await archive.askRetention(0)).toMatchObject({
		ok: true,
		retention: { days: 0, from: "1970-01-01" },
	});
	const other = { sourceKeys: ["dd".repeat(16)] };
	expect(await archive.askEvents({}, other)).toEqual({ ok: true, events: [] });
	const ledgers = await new Kvm(archive.connection).open(bucket.ledger);
	const released = await ledgers.get(`released.${archive.sourceKey}`);
	expect(released?.json()).toMatchObject({
		released: { "2026-03-02": { events: 2 } },
	});

	const lake = await openLake(archive);
	await lister.lookBack(Date.now(), new AbortController().signal);
	const found = (await lake.bodies()).flatMap(
		(body) => JSON.parse(body)?.tag ?? [],
	);
	expect(found.filter((tag) => tag !== "new").sort()).toEqual(loaded);
});
