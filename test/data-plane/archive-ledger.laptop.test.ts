import { Kvm } from "@nats-io/kv";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DateObjects } from "../../ingest/archive/ledger/date-objects.ts";
import { ledgerOf } from "../../ingest/archive/ledger/ledger-index.ts";
import { LedgerSnapshots } from "../../ingest/archive/ledger/ledger-snapshots.ts";
import { NatsProgress } from "../../ingest/archive/write/nats-progress.ts";
import type { SourceLedger } from "../../packages/contracts/ledger.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import { utcDate } from "../../packages/contracts/utc-date.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import { log } from "../support/fixtures/data-plane/running-archive.ts";
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

const receivedAtMs = Date.now();
const today = utcDate(receivedAtMs);

async function archiveWith(...bodies: string[]) {
	const archive = await ArchiveFixture.open(servers);
	const running = await archive.start();
	const { sourceKey } = archive;
	for (const body of bodies) {
		await archive.publish([newEvent(body, { sourceKey, receivedAtMs })]);
		await running.flush();
	}
	return { archive, running };
}

async function ledgers(archive: ArchiveFixture) {
	return new Kvm(archive.connection).open(bucket.ledger);
}

test("a published ledger through a time of the future gives way, and no other to an earlier one", async () => {
	const { archive, running } = await archiveWith("1");
	const { shard, sourceKey } = archive;
	const ledger = ledgerOf(running.shard.index.source("shop", sourceKey)!);
	const progress = await NatsProgress.open(archive.connection, 1);
	const publishAt = async (ms: number) => {
		const archivedThrough = new Date(receivedAtMs + ms).toISOString();
		await progress.setLedger({ ...ledger, shard, archivedThrough });
		const entry = await (await ledgers(archive)).get(sourceKey);
		const { archivedThrough: published } = entry!.json<SourceLedger>();
		return Date.parse(published) - receivedAtMs;
	};
	expect(await publishAt(3 * 86_400_000)).toBe(3 * 86_400_000);
	expect(await publishAt(-1_000)).toBe(-1_000);
	expect(await publishAt(-2_000)).toBe(-1_000);
});

test("what a restarted archive knows needs no cut record that a snapshot has taken", async () => {
	const { archive, running } = await archiveWith("1", "2", "3");
	const { store, shard, stream } = archive;
	await new LedgerSnapshots(store, log).write(shard, running.shard.index);
	await running.stop();
	for (const first of [1, 2])
		await archive.tamper(store.keys.cut(stream, first));

	const again = await archive.start();
	const { sourceKey } = archive;
	await archive.publish([newEvent("4", { sourceKey, receivedAtMs })]);
	await again.flush();
	const source = again.shard.index.source("shop", archive.sourceKey)!;
	expect([...source.objects.get(today)!].map(({ first }) => first)).toEqual([
		1, 2, 3, 4,
	]);
});

test("an archive that can't write snapshots archives as ever, through restarts", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	const refused: string[] = [];
	const start = () =>
		archive.start({
			// Each frame becomes a cut of its own.
			maxBytes: 1,
			wrapStore: (store) =>
				new Proxy(store, {
					get(target, property) {
						const value = Reflect.get(target, property, target);
						if (property !== "putNew")
							return typeof value === "function" ? value.bind(target) : value;
						return async (...put: Parameters<typeof store.putNew>) => {
							if (!put[0].includes("/ledgers/")) return target.putNew(...put);
							refused.push(put[0]);
							throw new RangeError("Invalid string length");
						};
					},
				}),
		});
	let events = 0;
	// A snapshot is due in the middle, and as the second one opens its session.
	for (const more of [510, 10]) {
		const running = await start();
		for (let number = 0; number < more; number++)
			await archive.publish([newEvent("1", { sourceKey, receivedAtMs })]);
		await running.flush();
		events += more;
		const source = running.shard.index.source("shop", sourceKey)!;
		expect(source.objects.get(today)!.rows).toBe(events);
		await running.stop();
	}
	expect(refused.length).toBeGreaterThan(1);
});

test("`tidemill ledger rebuild` in any archive counts all shards from the cut records, whatever the ledger and the snapshot say", async () => {
	const { archive, running } = await archiveWith("1", "2");
	const { index } = running.shard;
	const apart = { receivedAtMs, quarantined: true } as const;
	const violations = '{"type":"t","violations":[{"kind":"UnplannedEvent"}]}';
	await archive.publish([
		newEvent("3", { sourceKey: archive.sourceKey, violations, ...apart }),
	]);
	await running.flush();
	const source = index.source("shop", archive.sourceKey)!;
	const wrong = { stream: archive.stream, first: 1, rows: 99 };
	source.objects.set(today, DateObjects.of([wrong]));
	const { store, shard } = archive;
	await new LedgerSnapshots(store, log).write(shard, index);
	const kv = await ledgers(archive);
	const stood = await eventually(async () =>
		(await kv.get(archive.sourceKey))!.json<SourceLedger>(),
	);
	await kv.put(
		archive.sourceKey,
		JSON.stringify({
			...stood,
			archived: { [today]: 100 },
			quarantined: {},
			deviations: { entries: [] },
		}),
	);
	await running.stop();

	const { ended } = startTidemill(["ledger", "rebuild"], {
		...archive.env(),
		ARCHIVE_SHARDS: String(shard + 1),
	});
	const { exitCode, stdout } = await ended;
	expect({ exitCode, stdout }).toMatchObject({ exitCode: 0 });
	expect(stdout).toContain(`shop\t${archive.sourceKey}\t${today}\t2\t1\n`);
	expect((await kv.get(archive.sourceKey))!.json<SourceLedger>()).toMatchObject(
		{
			archived: { [today]: 2 },
			quarantined: { [today]: 1 },
			deviations: {
				entries: [{ type: "t", kind: "UnplannedEvent", quarantined: 1 }],
			},
		},
	);
	const snapshot = await new LedgerSnapshots(store, log).newest(shard);
	expect(
		snapshot!.source("shop", archive.sourceKey)!.objects.get(today)!.rows,
	).toBe(2);
});

test("`tidemill ledger` without `rebuild` says what there is", async () => {
	const { exitCode, stderr } = await startTidemill(["ledger"]).ended;
	expect(exitCode).toBe(2);
	expect(stderr).toContain("rebuild");
});
