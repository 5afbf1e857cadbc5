// In make test: ingest/lake/retention/retention.test.ts
import { randomUUID } from "node:crypto";
import { utimes } from "node:fs/promises";
import { join } from "node:path";
import type { LifecycleRule } from "@aws-sdk/client-s3";
import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { LedgerIndex } from "../../ingest/archive/ledger/ledger-index.ts";
import { ArchiveMetrics } from "../../ingest/archive/write/archive-metrics.ts";
import { RetentionKeeper } from "../../ingest/lake/retention/retention-keeper.ts";
import { RetentionStore } from "../../ingest/lake/retention/source-retention.ts";
import { objectKeys } from "../../packages/bucket/object-keys.ts";
import type { Store } from "../../packages/bucket/object-store.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import type { SourceRetention } from "../../packages/contracts/retention.ts";
import {
	addDays,
	dayMs,
	startOfDate,
	utcDate,
} from "../../packages/contracts/utc-date.ts";
import { storeWith } from "../support/doubles/store-with.ts";
import {
	ArchiveFixture,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import { log } from "../support/fixtures/data-plane/running-archive.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

const nowMs = Date.now();
const today = utcDate(nowMs);

/** An archive with a cut for each of these ages in days, each as old in the store as the events in it. */
async function archiveOfAges(...ages: number[]): Promise<ArchiveFixture> {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	const running = await archive.start();
	for (const age of ages) {
		const receivedAtMs = nowMs - age * dayMs;
		const seen = new Set(await keysOf(archive, ""));
		await archive.publish([
			newEvent(String(age), { receivedAtMs, sourceKey }),
			newEvent(`~${age}`, { receivedAtMs, sourceKey, quarantined: true }),
		]);
		await running.flush();
		for (const key of await keysOf(archive, ""))
			if (!seen.has(key)) await setAge(key, receivedAtMs);
	}
	await running.stop();
	return archive;
}

/** A release of events of that date, as old in the store as that. */
async function noteRelease(archive: ArchiveFixture, age: number, of = age) {
	const { sourceKey, store } = archive;
	const folder = { account: "shop", sourceKey, date: addDays(today, -of) };
	const made = [
		store.keys.addedRecord(folder, 1),
		store.keys.addedObject(folder, 1, "a"),
	];
	for (const key of made) {
		await store.putNew(key, "{}", "application/json");
		await setAge(key, nowMs - age * dayMs);
	}
}

async function setAge(key: string, ms: number) {
	const file = join(servers.s3.bucketDirectory, key);
	await utimes(file, ms / 1000, ms / 1000);
}

/** As if archive had been at work on that day, a second later in the day than now. */
async function noteDay(archive: ArchiveFixture, day: string) {
	const key = objectKeys(archive.prefix).day(day);
	await archive.store.putNew(key, "", "text/plain");
	await setAge(key, startOfDate(day) + (nowMs % dayMs) + 1_000);
}

async function keysOf(archive: ArchiveFixture, folder: string) {
	const keys: string[] = [];
	const prefix = `${archive.prefix}/${folder}`;
	for await (const { key } of archive.store.list(prefix)) keys.push(key);
	return keys;
}

function keeperOf(archive: ArchiveFixture, store: Store = archive.store) {
	const registry = new Registry();
	const metrics = new ArchiveMetrics(
		registry,
		() => [],
		async () => [],
	);
	const published: SourceRetention[] = [];
	const publish = async (_: unknown, sources: SourceRetention[]) => {
		published.push(...sources);
	};
	const shards = [
		{
			number: archive.shard,
			isArchiving: true,
			index: new LedgerIndex(),
			drainedAt: async () => undefined,
		},
	];
	return {
		registry,
		published,
		keeper: new RetentionKeeper({ store, shards, metrics, log, publish }),
	};
}

test("dates before today − 31 are deleted where the store has no lifecycle rules; a stream's newest cut stays", async () => {
	const archive = await archiveOfAges(40, 35, 31, 0);
	for (const age of [40, 35, 31, 0]) await noteRelease(archive, age);
	// Of a date that no Run loads any more. The store removes it as late as this.
	await noteRelease(archive, 1, 50);
	for (const age of [40, 0]) {
		const key = archive.keys.loss(archive.stream, age + 1);
		await archive.store.putNew(key, "{}", "application/json");
		await setAge(key, nowMs - age * dayMs);
	}
	for (let ago = 60; ago > 0; ago--)
		await noteDay(archive, addDays(today, -ago));
	const { keeper, registry } = keeperOf(archive);
	expect(await keeper.keep(nowMs)).toBe("sweep");
	expect(await archive.bodies()).toEqual(["0", "31"]);
	expect(await keysOf(archive, "quarantine/")).toHaveLength(2);
	const released = await keysOf(archive, "releases/");
	const dates = released.map((key) => /date=([\d-]+)/.exec(key)![1]);
	const left = [50, 31, 0].map((ago) => addDays(today, -ago));
	expect(dates).toEqual(left.flatMap((date) => [date, date]));
	expect(await keysOf(archive, "cuts/")).toHaveLength(2);
	expect(await keysOf(archive, "losses/")).toEqual([
		archive.keys.loss(archive.stream, 1),
	]);
	expect(await keysOf(archive, "days/")).toHaveLength(33);
	expect(
		await registry.getSingleMetricAsString("tidemill_archive_retention"),
	).toContain('{enforced_by="sweep"} 1');
});

test("a date's lists are removed a day before its objects, whoever removes those, and not by one clock", async () => {
	const archive = await archiveOfAges(31, 30);
	for (let ago = 60; ago > 0; ago--)
		await noteDay(archive, addDays(today, -ago));
	const { sourceKey, keys } = archive;
	for (const age of [31, 30, 0]) {
		const group = { account: "shop", sourceKey, date: addDays(today, -age) };
		for (const name of [archive.shard, "released"])
			await archive.store.put(keys.list(group, name), "x\n", "text/plain");
	}
	const lists = async () =>
		(await keysOf(archive, "lists/")).map(
			(key) => /date=([\d-]+)/.exec(key)![1],
		);
	const { keeper } = keeperOf(archive);
	// The store's clock says that it isn't so late.
	await keeper.keep(nowMs + 10 * dayMs);
	await keeper.keep(nowMs);
	const kept = [30, 0].map((age) => addDays(today, -age));
	expect(await lists()).toEqual(kept.flatMap((date) => [date, date]));
	expect(await archive.bodies()).toEqual(["30", "31"]);
});

test("an idle stream keeps its newest cut, and goes on from it", async () => {
	const archive = await archiveOfAges(50, 40);
	for (let ago = 60; ago > 0; ago--)
		await noteDay(archive, addDays(today, -ago));
	await keeperOf(archive).keeper.keep(nowMs);
	expect(await archive.bodies()).toEqual([]);
	expect(await keysOf(archive, "cuts/")).toHaveLength(1);
	const { flush } = await archive.start();
	await archive.publish([newEvent("new")]);
	await flush();
	expect(await archive.bodies()).toEqual(["new"]);
});

test("a clock that jumps by a year deletes nothing", async () => {
	const archive = await archiveOfAges(20, 0);
	for (let ago = 60; ago > 0; ago--)
		await noteDay(archive, addDays(today, -ago));
	const { keeper } = keeperOf(archive);
	await keeper.keep(nowMs + 365 * dayMs);
	expect(await archive.bodies()).toEqual(["0", "20"]);
	// The store's clock, too.
	await noteDay(archive, addDays(today, 365));
	await keeper.keep(nowMs + 365 * dayMs);
	expect(await archive.bodies()).toEqual(["0", "20"]);
	expect(await keysOf(archive, "cuts/")).toHaveLength(2);
});

test("a store with lifecycle rules gets one for the events, one for those in quarantine and one for those that were released, beside the user's own, and removes them itself", async () => {
	const archive = await archiveOfAges(40, 0);
	for (let ago = 60; ago > 0; ago--)
		await noteDay(archive, addDays(today, -ago));
	let rules: LifecycleRule[] = [
		{
			ID: "logs",
			Status: "Enabled",
			Filter: { Prefix: "logs/" },
			Expiration: { Days: 7 },
		},
	];
	const { store } = archive;
	const swept: string[] = [];
	const ruled = storeWith(store, {
		lifecycleRules: async () => rules,
		abortUploads: async (prefix) => {
			swept.push(prefix.slice(archive.prefix.length + 1));
			return 0;
		},
		setLifecycleRules: async (changed) => {
			rules = changed;
			return true;
		},
	});
	const { keeper } = keeperOf(archive, ruled);
	expect(await keeper.keep(nowMs)).toBe("lifecycle");
	// Large objects are sent in parts.
	expect(swept).toEqual(["events/", "quarantine/", "releases/"]);
	expect(rules).toMatchObject([
		{ ID: "logs" },
		{
			Filter: { Prefix: `${archive.prefix}/events/` },
			Expiration: { Days: 32 },
		},
		{
			Filter: { Prefix: `${archive.prefix}/quarantine/` },
			Expiration: { Days: 32 },
		},
		{
			Filter: { Prefix: `${archive.prefix}/releases/` },
			Expiration: { Days: 32 },
		},
	]);
	expect(await archive.bodies()).toEqual(["0", "40"]);
	expect(await keysOf(archive, "quarantine/")).toHaveLength(2);
});

test("what people upload, what Imports' Jobs leave and what Runs got before it was cut goes after three days", async () => {
	const archive = await archiveOfAges(0);
	const { store, sourceKey } = archive;
	const source = { account: "shop", sourceKey };
	const [old, young] = [
		store.keys.upload("shop", "a"),
		store.keys.upload("shop", "b"),
	];
	const part = store.keys.importPart(source, "operation", 1);
	const folder = { ...source, date: today };
	const [early, recent] = ["a", "b"].map((name) =>
		store.keys.early(folder, name),
	) as [string, string];
	for (const key of [old, young, part, early, recent])
		await store.putNew(key, "1", "text/plain");
	for (const key of [old, part, early]) await setAge(key, nowMs - 4 * dayMs);
	for (let ago = 10; ago > 0; ago--)
		await noteDay(archive, addDays(today, -ago));
	await keeperOf(archive).keeper.keep(nowMs);
	expect(await keysOf(archive, "uploads/")).toEqual([young]);
	expect(await keysOf(archive, "imports/")).toEqual([]);
	expect(await keysOf(archive, "early/")).toEqual([recent]);
});

/** Asks for the manifest of a Run of these dates. */
async function manifestOf(archive: ArchiveFixture, age: number) {
	const { sourceKey } = archive;
	const day = addDays(today, -age);
	const answer = await archive.ask({
		run: randomUUID(),
		account: "shop",
		sourceKey,
		extent: "Chosen",
		start: day,
		end: day,
		quarantine: true,
	});
	if (!answer.ok) return answer.error.code;
	const manifest = (await (await fetch(answer.url)).json()) as Manifest;
	return manifest.dates.map(({ rows, quarantine }) => [rows, quarantine?.rows]);
}

test("a source that keeps its events for 400 days can load them then, whatever the ledger has forgotten, and another's go as ever", async () => {
	const archive = await archiveOfAges(410, 390, 40, 0);
	for (let ago = 420; ago > 0; ago--)
		await noteDay(archive, addDays(today, -ago));
	const { sourceKey } = archive;
	// As asked for a year and more ago.
	const record = { version: 1, account: "shop", sourceKey } as const;
	const from = addDays(today, -500);
	await new RetentionStore(archive.store).write(1, {
		...record,
		days: 400,
		from,
	});
	const first = await archive.start();
	await first.flush();
	await archive.publish([
		newEvent("other", {
			receivedAtMs: nowMs - 40 * dayMs,
			sourceKey: "0".repeat(32),
		}),
	]);
	await first.flush();
	for (const key of await keysOf(archive, ""))
		if (key.includes("0".repeat(32))) await setAge(key, nowMs - 40 * dayMs);
	await first.keeper.keep(nowMs);
	expect(await archive.bodies()).toEqual(["0", "390", "40"]);
	expect(await keysOf(archive, "dates/")).toHaveLength(3);
	await first.stop();
	for (const key of await keysOf(archive, "ledgers/"))
		await archive.tamper(key);
	const second = await archive.start();
	await second.flush();
	expect(await manifestOf(archive, 390)).toEqual([[1, 1]]);
	expect(await manifestOf(archive, 40)).toEqual([[1, 1]]);
	expect(await manifestOf(archive, 200)).toEqual([[0, undefined]]);
	expect(await manifestOf(archive, 401)).toEqual([]);
	// What is there and nobody knows of is not an empty day.
	const date = addDays(today, -390);
	await archive.tamper(
		archive.keys.ledgerOfDate({ ...record, date }, archive.shard),
	);
	expect(await manifestOf(archive, 390)).toBe("LedgerMismatch");
});

test("archive keeps what it is asked to, from what it still has, and lowers it only a week later", async () => {
	const archive = await archiveOfAges(40, 31, 0);
	const { sourceKey } = archive;
	const running = await archive.start();
	await running.flush();
	const source = { version: 1, account: "shop", sourceKey };
	const from = addDays(today, -30);
	const longer = { ...source, days: 400, from };
	for (const _ of ["once", "again"])
		expect(await archive.askRetention(400)).toEqual({
			ok: true,
			retention: longer,
		});
	expect(await keysOf(archive, "retention/")).toHaveLength(1);
	// Deleted or not: a table that has that day keeps it.
	expect(await manifestOf(archive, 31)).toEqual([]);
	const next = { days: 30, date: addDays(today, 8) };
	expect(await archive.askRetention(30)).toEqual({
		ok: true,
		retention: { ...longer, next },
	});
	// However often it changes its mind, it has one record.
	const [second, ...rest] = await keysOf(archive, "retention/");
	expect(rest).toEqual([]);
	for (let ago = 60; ago > 0; ago--)
		await noteDay(archive, addDays(today, -ago));
	await running.keeper.keep(nowMs);
	expect(await archive.bodies()).toEqual(["0", "31", "40"]);
	await setAge(second!, nowMs - 9 * dayMs);
	await running.keeper.keep(nowMs);
	expect(await archive.bodies()).toEqual(["0", "31"]);
	await archive.askDeletion();
	expect(await keysOf(archive, "retention/")).toEqual([]);
	expect(await keysOf(archive, "dates/")).toEqual([]);
});

test.each([60_000, -60_000])(
	"while archive's clock is %i ms ahead of NATS's, no retention is set and no manifest made; when it is right, both are",
	async (aheadMs) => {
		const archive = await archiveOfAges(0);
		await archive.start();
		const refused = {
			ok: false,
			error: { code: "ClocksDiffer", retryable: true },
		};
		const now = Date.now.bind(Date);
		vi.spyOn(Date, "now").mockImplementation(() => now() + aheadMs);
		try {
			expect(await archive.askRetention(400)).toMatchObject(refused);
			const { sourceKey } = archive;
			const question = { run: randomUUID(), account: "shop", sourceKey };
			expect(await archive.ask(question)).toMatchObject(refused);
		} finally {
			vi.restoreAllMocks();
		}
		expect(await keysOf(archive, "retention/")).toEqual([]);
		expect(await archive.askRetention(400)).toMatchObject({ ok: true });
		expect(await manifestOf(archive, 0)).toHaveLength(1);
	},
);

test("a bucket's rule that removes events earlier than asked is published, and nobody relies on more", async () => {
	const archive = await archiveOfAges(0);
	const { sourceKey, store } = archive;
	await new RetentionStore(store).write(1, {
		version: 1,
		account: "shop",
		sourceKey,
		days: 400,
		from: today,
	});
	let rules: LifecycleRule[] = [];
	let mayChange = true;
	const { keeper, published } = keeperOf(
		archive,
		Object.assign(store, {
			lifecycleRules: async () => rules,
			setLifecycleRules: async (changed: LifecycleRule[]) => {
				if (mayChange) rules = changed;
				return mayChange;
			},
		}),
	);
	const kept = await new RetentionStore(store).all();
	expect((await keeper.setRules([])).enforcedBy).toBe("lifecycle");
	mayChange = false;
	const { problemOf } = await keeper.setRules(kept);
	expect(problemOf(400)?.message).toContain("before 400 days");
	mayChange = true;
	expect((await keeper.setRules(kept)).problemOf(400)).toBeUndefined();
	expect(rules.map(({ Expiration }) => Expiration?.Days)).toEqual([
		402, 402, 402,
	]);
	rules.push({
		ID: "tidy",
		Status: "Enabled",
		Filter: {},
		Expiration: { Days: 90 },
	});
	await keeper.keep(nowMs);
	expect(published).toEqual([
		expect.objectContaining({
			days: 400,
			// The rule's name is in archive's log.
			problem: expect.stringMatching(
				/^A lifecycle rule .* \(error [0-9a-f]{8} in the log of archive\)/,
			),
		}),
	]);
	// Nobody who asks for less is in its way.
	expect((await keeper.setRules(kept)).problemOf(60)).toBeUndefined();
});
