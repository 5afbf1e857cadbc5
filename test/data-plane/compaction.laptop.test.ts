import { randomUUID } from "node:crypto";
import { Kvm } from "@nats-io/kv";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DateObjects } from "../../ingest/archive/ledger/date-objects.ts";
import { LedgerSnapshots } from "../../ingest/archive/ledger/ledger-snapshots.ts";
import { Tombstones } from "../../ingest/archive/write/tombstones.ts";
import { CompactionStore } from "../../ingest/lake/compaction/record.ts";
import { deleteSourceObjects } from "../../ingest/lake/retention/deletion.ts";
import { additionTo } from "../../ingest/load/addition.ts";
import type { SourceLedger } from "../../packages/contracts/ledger.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import { dayMs, utcDate } from "../../packages/contracts/utc-date.ts";
import { nameOf } from "../../packages/warehouses/load/load-day.ts";
import { passingDirectory } from "../support/faults/passing-directory.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import {
	CompactionFixture,
	closedDate,
	dateOf,
	loadedBodies,
	watched,
} from "../support/fixtures/data-plane/compaction-fixture.ts";
import { openLake } from "../support/fixtures/data-plane/lake.ts";
import {
	log,
	type RunningArchive,
} from "../support/fixtures/data-plane/running-archive.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";
import { startTidemill } from "../support/servers/tidemill-process.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

/** When readers of what a compaction replaced are gone, by this process's clock. */
const laterMs = () => Date.now() + 2 * dayMs;

test("a closed date becomes one object with the same rows in order; others stay as they are", async () => {
	const fixture = await CompactionFixture.open(servers);
	const { archive, bodies, signal, running, registry } = fixture;
	const { sourceKey } = archive;
	const receivedAtMs = Date.now();
	for (const body of ["1", "2", "3"])
		await archive.publish([newEvent(body, { sourceKey, receivedAtMs })]);
	await running.flush();
	const before = await archive.rows();
	await fixture.compactor().look(Date.now(), signal);

	const record = (await fixture.record())!;
	expect(record.outputs).toHaveLength(1);
	const [output] = record.outputs;
	expect(output).toMatchObject({ rows: 36 });
	expect(output!.inputs).toHaveLength(12);
	const start = Date.parse(closedDate);
	expect(output!.inputTimes).toEqual(
		output!.inputs.map((_, cut) => [
			...[start + cut * 1000, start + cut * 1000 + 3000],
		]),
	);
	const folder = archive.keys.eventsOfDate(record);
	const after = (await archive.rows()).filter(
		({ key }) => key === folder + output!.name,
	);
	expect(after.map(({ key: _, ...row }) => row)).toEqual(
		before
			.filter(({ date }) => date === closedDate)
			.map(({ key: _, ...row }) => row)
			.sort((a, b) =>
				a.timestamp + a.event_id < b.timestamp + b.event_id ? -1 : 1,
			),
	);
	const manifest = await fixture.manifest();
	expect(dateOf(manifest).objects.map(({ key }) => key)).toEqual([
		folder + output!.name,
	]);
	expect(dateOf(manifest, utcDate(receivedAtMs)).objects).toHaveLength(3);
	expect(await loadedBodies(manifest)).toEqual(bodies);
	const metrics = await registry.metrics();
	expect(metrics).toMatch(/archive_compactions_total\{shard="\d+"\} 1\n/);
	expect(metrics).toMatch(/compacted_objects_total\{shard="\d+"\} 12\n/);
	expect(metrics).toMatch(/compaction_outputs_total\{shard="\d+"\} 1\n/);
});

test("NATS's clock that is ahead closes no date", async () => {
	const fixture = await CompactionFixture.open(servers);
	const { archive, running, signal } = fixture;
	const { sourceKey } = archive;
	const receivedAtMs = Date.now();
	for (const body of ["1", "2", "3"])
		await archive.publish([newEvent(body, { sourceKey, receivedAtMs })]);
	await running.flush();
	const { index, number, lagSeconds, isArchiving } = running.shard;
	const ahead = {
		sources: () => index.sources(),
		newestOfStream: index.newestOfStream,
		replace: index.replace.bind(index),
		archivedThrough: new Date(Date.now() + 3 * dayMs).toISOString(),
	} as typeof index;
	const shards = [{ number, lagSeconds, isArchiving, index: ahead }];
	await fixture.compactor({ shards }).look(Date.now(), signal);
	const records = [];
	for await (const { key } of archive.store.list(
		archive.keys.compactionsOfSource({ account: "shop", sourceKey }),
	))
		records.push(key);
	const date = closedDate;
	expect(records).toEqual([
		archive.keys.compaction({ account: "shop", sourceKey, date }),
	]);
});

test("a Run whose manifest was made before reads on; what was replaced goes a day later, and every reader finds each event once", async () => {
	const fixture = await CompactionFixture.open(servers);
	const { bodies, signal } = fixture;
	const run = randomUUID();
	const before = await fixture.manifest(run);
	expect(dateOf(before).objects).toHaveLength(12);
	const lake = await openLake(fixture.archive);
	const compactor = fixture.compactor();
	await compactor.look(Date.now(), signal);

	expect(await loadedBodies(await fixture.manifest(run))).toEqual(bodies);
	expect(await loadedBodies(await fixture.manifest())).toEqual(bodies);
	expect(await lake.bodies()).toEqual(bodies);
	await compactor.look(Date.now(), signal);
	// The store's clock says that it isn't time yet.
	await compactor.look(laterMs(), signal);
	expect(await fixture.names()).toHaveLength(13);

	await fixture.recordedDaysAgo(2);
	await fixture.compactor().look(Date.now(), signal);
	expect(await fixture.names()).toHaveLength(1);
	expect(await loadedBodies(await fixture.manifest())).toEqual(bodies);
	expect(await lake.bodies()).toEqual(bodies);
	// The Run still goes on: it gets the same events by other objects.
	const renewed = await fixture.manifest(run, { renew: true });
	expect(await loadedBodies(renewed)).toEqual(bodies);
	expect(dateOf(renewed)).toMatchObject({ rows: 36, objects: [{ rows: 36 }] });
	// A table that has the date by the objects before lacks nothing of it.
	const objects = dateOf(before).objects.map(nameOf);
	const held = {
		rows: 36,
		digest: "7",
		loadedDigest: "7",
		loads: [{ objects, rows: 36, unfit: {}, run: "before" }],
	};
	for (const manifest of [renewed, await fixture.manifest()])
		expect(additionTo(dateOf(manifest), held)).toMatchObject({
			objects: [],
			kept: { renamed: dateOf(manifest).objects.map(nameOf) },
		});
});

test("a manifest isn't renewed if its objects were compacted together with later events", async () => {
	const fixture = await CompactionFixture.open(servers, 3);
	const run = randomUUID();
	await fixture.manifest(run);
	await fixture.publish(7_000);
	await fixture.running.flush();
	await fixture.compactor().look(Date.now(), fixture.signal);
	await expect(fixture.manifest(run, { renew: true })).rejects.toThrow(
		"were merged with later events. Start a new Run, or create another Operation.",
	);
});

test("an object that arrives after its date was compacted counts on its own", async () => {
	const fixture = await CompactionFixture.open(servers, 4);
	const compactor = fixture.compactor();
	await compactor.look(Date.now(), fixture.signal);
	await fixture.publish(9_000);
	await fixture.running.flush();
	const manifest = await fixture.manifest();
	expect(dateOf(manifest).objects).toHaveLength(2);
	expect(await loadedBodies(manifest)).toEqual(fixture.bodies);
	await fixture.recordedDaysAgo(2);
	await compactor.look(Date.now(), fixture.signal);
	expect(await fixture.names()).toHaveLength(2);
	expect(await loadedBodies(await fixture.manifest())).toEqual(fixture.bodies);
	const lake = await openLake(fixture.archive);
	expect(await lake.bodies()).toEqual(fixture.bodies);
	const metrics = await fixture.running.registry.metrics();
	// All of its events are: they were stored two days after their receipt.
	expect(metrics).toMatch(/archive_late_events_total\{shard="\d+"\} 13\n/);
});

test("archive forgets the objects that a compaction replaced; the day's count stays, through restarts and late events", async () => {
	const fixture = await CompactionFixture.open(servers);
	const { archive, bodies } = fixture;
	const { sourceKey, shard, store } = archive;
	const ofDate = ({ shard: { index } }: RunningArchive) =>
		index.source("shop", sourceKey)!.objects.get(closedDate)!;
	const holds = (running: RunningArchive) => [...ofDate(running)].length;
	expect(holds(fixture.running)).toBe(12);
	await fixture.compactor().look(Date.now(), fixture.signal);
	expect(holds(fixture.running)).toBe(1);
	expect(dateOf(await fixture.manifest()).rows).toBe(36);
	const { index } = fixture.running.shard;
	await new LedgerSnapshots(store, log).write(shard, index);
	await fixture.running.stop();

	const again = await archive.start({ maxBytes: 1 });
	expect(dateOf(await fixture.manifest()).rows).toBe(36);
	expect(holds(again)).toBe(1);
	await fixture.publish(20_000);
	await again.flush();
	expect(await loadedBodies(await fixture.manifest())).toEqual(bodies);
	const kv = await new Kvm(archive.connection).open(bucket.ledger);
	const published = await kv.get(sourceKey);
	expect(published!.json<SourceLedger>().archived).toEqual({
		[closedDate]: 37,
	});
	await again.stop();

	// Without a snapshot, the next look forgets them again.
	await new LedgerSnapshots(store, log).clear(shard);
	const last = await archive.start();
	await last.flush();
	await eventually(() => expect(last.shard.isArchiving).toBe(true));
	expect(holds(last)).toBe(13);
	await fixture
		.compactor({ shards: [last.shard] })
		.look(Date.now(), fixture.signal);
	expect(holds(last)).toBe(2);
	expect(await loadedBodies(await fixture.manifest())).toEqual(bodies);
});

test("`tidemill ledger rebuild` counts what was compacted and removed", async () => {
	const fixture = await CompactionFixture.open(servers, 4);
	const compactor = fixture.compactor();
	await compactor.look(Date.now(), fixture.signal);
	await fixture.recordedDaysAgo(2);
	await compactor.look(Date.now(), fixture.signal);
	await fixture.running.stop();
	const { archive } = fixture;
	const { ended } = startTidemill(["ledger", "rebuild"], archive.env());
	const { exitCode, stdout } = await ended;
	expect({ exitCode, stdout }).toMatchObject({ exitCode: 0 });
	expect(stdout).toContain(
		`shop\t${archive.sourceKey}\t${closedDate}\t12\t0\n`,
	);
});

test.each<[string, (fixture: CompactionFixture) => Promise<void>]>([
	[
		"an object is missing",
		async ({ archive, due }) => {
			const { stream, first } = due().objects[1]!;
			await archive.tamper(archive.keys.events(due(), stream, first));
		},
	],
	[
		"an object holds other rows than the ledger says",
		async ({ archive, running, due }) => {
			const { date, objects } = due();
			const source = running.shard.index.source("shop", archive.sourceKey)!;
			objects[1]!.rows = 4;
			source.objects.set(date, DateObjects.of(objects));
		},
	],
	[
		"another object has the name of an output",
		async ({ archive, due, outputKey }) => {
			const { stream, first } = due().objects[0]!;
			const url = await archive.store.presign(
				archive.keys.events(due(), stream, first),
				60,
			);
			const bytes = await (await fetch(url)).bytes();
			await archive.store.putNew(outputKey(), bytes, "text/plain");
		},
	],
])("nothing is replaced when %s", async (_, spoil) => {
	const fixture = await CompactionFixture.open(servers, 4);
	await spoil(fixture);
	const before = await fixture.names();
	const compactor = fixture.compactor();
	await compactor.look(Date.now(), fixture.signal);
	expect(await fixture.record()).toBeUndefined();
	expect(await fixture.registry.metrics()).toMatch(
		/compaction_failures_total\{shard="\d+"\} 1\n/,
	);
	// It isn't tried again at once.
	await compactor.look(Date.now(), fixture.signal);
	await fixture.recordedDaysAgo(2);
	await compactor.look(laterMs(), fixture.signal);
	const originals = before.filter((name) => !name.startsWith("compacted-"));
	expect(await fixture.names()).toEqual(expect.arrayContaining(originals));
});

test("compaction reads nothing while its shard is behind", async () => {
	const fixture = await CompactionFixture.open(servers, 4);
	let [lagSeconds, asked, reads] = [61, 0, 0];
	const shard = {
		number: 0,
		index: fixture.running.shard.index,
		isArchiving: true,
		get lagSeconds() {
			asked++;
			return lagSeconds;
		},
	};
	const compactor = fixture.compactor({
		shards: [shard],
		wrapStore: (store) =>
			watched(store, async (_, step) => {
				if (step === "getFile") reads++;
			}),
	});
	const compacting = compactor.compact(0, fixture.due(), fixture.signal);
	await eventually(() => expect(asked).toBeGreaterThan(1));
	expect(reads).toBe(0);
	lagSeconds = 0;
	expect((await compacting).outputs).toHaveLength(1);
});

test("a shard that has stopped doesn't hold up the compaction of the others", async () => {
	const stopped = await ArchiveFixture.open(servers);
	await stopped.publishBytes(Buffer.from("no frame"), "x");
	const { shard } = await stopped.start();
	await eventually(() => expect(shard.alarm).toBeDefined());
	const fixture = await CompactionFixture.open(servers, 4);
	const shards = [shard, fixture.running.shard];
	const compacting = fixture
		.compactor({ shards })
		.compact(fixture.running.shard.number, fixture.due(), fixture.signal);
	expect((await compacting).outputs).toHaveLength(1);
});

test("a deleted source's compaction records and outputs are deleted, and no more are written", async () => {
	const fixture = await CompactionFixture.open(servers, 4);
	const { store } = fixture.archive;
	const due = fixture.due();
	await fixture.compactor().look(Date.now(), fixture.signal);
	const tombstones = new Tombstones(store);
	await tombstones.add(due);
	await deleteSourceObjects({ store }, due, () => true);
	expect(await fixture.record()).toBeUndefined();
	expect(await fixture.names()).toEqual([]);
	const late = fixture.compactor({ tombstones });
	await expect(late.compact(0, due, fixture.signal)).rejects.toThrow(
		"is deleted",
	);
	expect(await fixture.names()).toEqual([]);
});

test("`tidemill archive` compacts by itself", async () => {
	const fixture = await CompactionFixture.open(servers, 8);
	const { archive } = fixture;
	const due = fixture.due();
	await fixture.running.stop();
	const process = startTidemill(["archive"], {
		...archive.env(),
		ARCHIVE_COMPACTION_INTERVAL_MS: "200",
		ARCHIVE_SCRATCH: await passingDirectory("scratch"),
	});
	let isSaid = false;
	process.onLine = (line) => {
		isSaid ||= line.includes('"msg":"compacted a date"');
	};
	const records = new CompactionStore(archive.store);
	await eventually(async () =>
		expect((await records.of(due))?.outputs).toHaveLength(1),
	);
	await eventually(() => expect(isSaid).toBe(true));
	process.child.kill("SIGTERM");
	expect((await process.ended).exitCode).toBe(0);
});
