// In make test: ingest/lake/erasure/source-erasure.test.ts
import { createHash, randomUUID } from "node:crypto";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openRefusedStream } from "../../ingest/archive/refused-stream.ts";
import { CompactionStore } from "../../ingest/lake/compaction/record.ts";
import { newEventId } from "../../ingest/wire/frame-event.ts";
import { outputName } from "../../ingest/wire/object-name.ts";
import { refused } from "../../packages/contracts/nats.ts";
import { addDays, dayMs, utcDate } from "../../packages/contracts/utc-date.ts";
import { readArchivedRows } from "../support/examples/archived-rows.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import {
	CompactionFixture,
	dateOf,
} from "../support/fixtures/data-plane/compaction-fixture.ts";
import { leaveParts } from "../support/fixtures/data-plane/imported-events.ts";
import { loadFixture } from "../support/fixtures/data-plane/load-fixture.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";

/* Where an event stands besides the object that counts, which test/faults/data-plane/kills-cases.ts tries. */

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

test("what a compaction has replaced, what a Run got early, parts of Imports, uploads and refused requests are erased and counted", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const { store, keys, sourceKey, connection } = archive;
	const shop = { account: "shop", sourceKey };
	const receivedAtMs = Date.now() - 2 * dayMs;
	const event = (name: string) =>
		newEvent(JSON.stringify({ name }), {
			...shop,
			id: newEventId(receivedAtMs),
			receivedAtMs,
		});
	await archive.publish([event("Ada"), event("Bob")]);
	const folder = { ...shop, date: addDays(utcDate(Date.now()), -2) };
	const prefix = keys.eventsOfDate(folder);
	const bytesOf = async (key: string) =>
		Buffer.from(
			await (await fetch(await store.presign(key, 60))).arrayBuffer(),
		);
	const name = await eventually(async () => {
		const [found] = await Array.fromAsync(store.list(prefix));
		expect(found).toBeDefined();
		return found!.key.slice(prefix.length);
	});
	const bytes = await bytesOf(prefix + name);
	const type = "application/vnd.apache.parquet";
	const output = outputName([name]);
	await store.putNew(prefix + output, bytes, type);
	await new CompactionStore(store).decide({
		version: 1,
		...folder,
		outputs: [
			{
				name: output,
				rows: 2,
				bytes: bytes.length,
				sha256: createHash("sha256").update(bytes).digest("hex"),
				inputs: [name],
			},
		],
	});
	const early = keys.early(folder, name);
	await store.putNew(early, bytes, type);
	await leaveParts(archive, shop, randomUUID(), [event("Ada")]);
	const upload = keys.upload("shop", "ab".repeat(32));
	await store.putNew(upload, "Ada", "text/plain");
	await openRefusedStream(connection, 1);
	for (const source of [sourceKey, "e".repeat(32)])
		await jetstream(connection).publish(refused.subject("shop", source), "{}");
	// As before the upgrade.
	const former = `tidemill.refused.shop.${sourceKey}`;
	await jetstream(connection).publish(former, "{}");
	const answer = await archive.askErasure(randomUUID(), {
		mode: "RemoveRow",
		match: { bodyPointer: "/name", equals: "Ada" },
	});
	expect(answer).toMatchObject({
		ok: true,
		places: {
			Events: 1,
			CompactedInputs: 1,
			Quarantine: 0,
			Releases: 0,
			EarlyObjects: 1,
			ImportParts: 1,
			Uploads: 1,
			Refusals: 2,
		},
	});
	for (const key of [prefix + name, prefix + output, early])
		expect(
			(await readArchivedRows(await bytesOf(key)))
				.map(({ body }) => body)
				.toSorted(),
			key,
		).toEqual(["null", '{"name":"Bob"}']);
	expect(await Array.fromAsync(store.list(upload))).toEqual([]);
	const { streams } = await jetstreamManager(connection);
	const { state } = await streams.info(refused.stream, {
		subjects_filter: refused.subjects,
	});
	expect(state.subjects).toEqual({
		[refused.subject("shop", "e".repeat(32))]: 1,
	});
});

test("a date whose events were erased while it was open is compacted like others, and what is erased stays so", async () => {
	const archive = await ArchiveFixture.open(servers);
	// Each frame becomes a cut of its own.
	const running = await archive.start({ maxBytes: 1 });
	const { sourceKey } = archive;
	const receivedAtMs = Date.now();
	for (const name of ["Ada", "Bob", "Cyd"])
		await archive.publish([
			newEvent(JSON.stringify({ name }), { sourceKey, receivedAtMs }),
		]);
	await running.flush();
	const date = utcDate(receivedAtMs);
	const fixture = new CompactionFixture(archive, running, { date });
	const erase = (name: string) =>
		archive.askErasure(randomUUID(), {
			mode: "RemoveRow",
			match: { bodyPointer: "/name", equals: name },
		});
	expect(await erase("Ada")).toMatchObject({ ok: true, places: { Events: 1 } });
	expect(await fixture.record()).toBeUndefined();
	// As when the date is closed.
	const { number } = running.shard;
	await fixture.compactor().compact(number, fixture.due(), fixture.signal);
	expect((await fixture.record())?.outputs).toHaveLength(1);
	const compacted = await fixture.manifest();
	expect(dateOf(compacted, date)).toMatchObject({
		rows: 3,
		objects: [{ inputs: 3 }],
		erased: { rows: 1 },
	});
	const { load, rows } = await loadFixture();
	const end = await load(compacted);
	expect(end.exitCode, end.log).toBe(0);
	const names = "SELECT body->>'name' FROM orders ORDER BY 1";
	expect(await rows(names)).toEqual([["Bob"], ["Cyd"]]);
	// Its inputs are there for a day, and each counts once.
	expect(await erase("Bob")).toMatchObject({ ok: true });
	const twice = dateOf(await fixture.manifest(), date);
	expect(twice.erased).toMatchObject({ rows: 2 });
});
