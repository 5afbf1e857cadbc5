// In make test: ingest/archive/read/standby.test.ts
import { afterAll, beforeAll, expect, test } from "vitest";
import { firing } from "../../support/alerts/firing.ts";
import { startArchiveProcess } from "../../support/faults/archive-process.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../../support/fixtures/data-plane/archive-fixture.ts";
import type { RunningArchive } from "../../support/fixtures/data-plane/running-archive.ts";
import {
	type Servers,
	startServers,
} from "../../support/servers/archive-servers.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

/** The value of a metric that speaks of one shard. */
async function metric(
	{ registry }: RunningArchive,
	name: string,
): Promise<number | undefined> {
	const found = registry.getSingleMetric(`tidemill_archive_${name}`)!;
	return (await found.get()).values[0]?.value;
}

/** Publishes an event, and waits until it is archived. */
async function pass(archive: ArchiveFixture, body: string): Promise<void> {
	await archive.publish([newEvent(body)]);
	await eventually(async () =>
		expect(await archive.streamState()).toMatchObject({ messages: 0 }),
	);
}

test("one of two archivers of a shard does the work; the other is on standby, and is ready", async () => {
	const archive = await ArchiveFixture.open(servers);
	const both = [
		await archive.start({ maxAgeMs: 50 }),
		await archive.start({ maxAgeMs: 50 }),
	];
	const all = (name: string) =>
		Promise.all(both.map((one) => metric(one, name)));
	const bodies: string[] = [];
	const passOne = async () => {
		bodies.push(String(bodies.length));
		await pass(archive, bodies.at(-1)!);
	};
	// The one that loses the race for a cut goes on standby.
	await eventually(async () => {
		await passOne();
		expect((await all("active")).toSorted()).toEqual([0, 1]);
	});
	// If the machine stalls one of them for seconds, the other takes over.
	const active = await eventually(async () => {
		const active = await all("active");
		const before = await all("cuts_total");
		for (let event = 0; event < 5; event++) await passOne();
		const after = await all("cuts_total");
		for (const [index, isActive] of active.entries())
			expect((after[index] ?? 0) - (before[index] ?? 0)).toBe(isActive ? 5 : 0);
		return active;
	});
	// One that stepped in begins again, once the other has purged what it was reading.
	for (const { shard } of both)
		await eventually(() => expect(shard.notReady).toBeUndefined());

	// The one that works goes away, the other is asked.
	const working = both[active.indexOf(1)]!;
	const standing = both[active.indexOf(0)]!;
	await working.stop();
	bodies.push("asked");
	await archive.publish([newEvent("asked")]);
	await standing.flush();
	expect(await metric(standing, "active")).toBe(1);
	await passOne();
	expect(await archive.bodies()).toEqual(bodies.sort());
});

test("when one of two processes with the same shards is killed, the other goes on with both", async () => {
	const shards = [
		await ArchiveFixture.open(servers),
		await ArchiveFixture.open(servers),
	];
	const [first] = shards;
	const env = {
		ARCHIVE_SHARDS: shards.map(({ shard }) => shard).join(),
		ARCHIVE_MAX_AGE_MS: "50",
		S3_PREFIX: first!.prefix,
	};
	const processes = [
		await startArchiveProcess(first!, env),
		await startArchiveProcess(first!, env),
	];
	for (const { readyz } of processes)
		await eventually(async () => expect(await readyz()).toBe("ok\n"));
	const bodies: string[] = [];
	const passSome = async (word: string) => {
		for (const [index, shard] of shards.entries())
			for (let event = 0; event < 5; event++) {
				bodies.push(`"${word}-${index}-${event}-${bodies.length}"`);
				await pass(shard, bodies.at(-1)!);
			}
	};
	const isActive = `tidemill_archive_active{shard="${first!.shard}"} 1`;
	const active = await eventually(async () => {
		await passSome("both");
		const metrics = await Promise.all(processes.map((one) => one.metrics()));
		const working = processes.filter((_, at) =>
			metrics[at]!.includes(isActive),
		);
		expect(working).toHaveLength(1);
		return working[0]!;
	});
	active.child.kill("SIGKILL");
	await active.ended;
	await passSome("one");
	expect(await first!.bodies()).toEqual(bodies.sort());
});

test("two processes divide the shards as ARCHIVE_SHARDS says", async () => {
	const shards = [
		await ArchiveFixture.open(servers),
		await ArchiveFixture.open(servers),
	];
	// Of one bucket.
	const [first] = shards as [ArchiveFixture, ArchiveFixture];
	for (const shard of shards)
		await startArchiveProcess(shard, { S3_PREFIX: first.prefix });
	const bodies: string[] = [];
	for (const shard of shards) {
		await pass(shard, '"x"');
		bodies.push('"x"');
		expect(await first.bodies()).toEqual(bodies);
	}
});

test("backlog, lag and watermark are metrics", async () => {
	const archive = await ArchiveFixture.open(servers);
	const running = await archive.start({ maxAgeMs: 600_000 });
	for (const body of ["1", "2", "3"]) await archive.publish([newEvent(body)]);
	await eventually(async () => {
		expect(await metric(running, "backlog_frames")).toBe(3);
		expect(await metric(running, "backlog_bytes")).toBeGreaterThan(0);
		expect(await metric(running, "lag_seconds")).toBeGreaterThan(0);
	});
	expect(await metric(running, "watermark_seconds")).toBeUndefined();
	const { last_ts } = await archive.streamState();
	await running.flush();
	await eventually(async () => {
		expect(await metric(running, "backlog_frames")).toBe(0);
		expect(await metric(running, "backlog_bytes")).toBe(0);
		expect(await metric(running, "lag_seconds")).toBe(0);
	});
	// No operator is scraped here.
	expect(
		await firing({
			atMs: Date.now(),
			texts: [await running.registry.metrics()],
		}),
	).toEqual(["TidemillOperatorHasNoLeader"]);
	expect(await metric(running, "watermark_seconds")).toBeCloseTo(
		Date.parse(last_ts) / 1000,
		2,
	);
});
