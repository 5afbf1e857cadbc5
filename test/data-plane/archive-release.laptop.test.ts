import { randomBytes, randomUUID } from "node:crypto";
import { Kvm } from "@nats-io/kv";
import { afterAll, beforeAll, expect, test } from "vitest";
import { NatsProgress } from "../../ingest/archive/write/nats-progress.ts";
import { Tombstones } from "../../ingest/archive/write/tombstones.ts";
import { AddedLedgers } from "../../ingest/lake/addition/added-ledgers.ts";
import {
	type AddedLedger,
	addedKey,
	type SourceLedger,
} from "../../packages/contracts/ledger.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import { addDays, utcDate } from "../../packages/contracts/utc-date.ts";
import {
	ArchiveFixture,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import { bodiesIn } from "../support/fixtures/data-plane/manifest-bodies.ts";
import { log } from "../support/fixtures/data-plane/running-archive.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";
import { startTidemill } from "../support/servers/tidemill-process.ts";

/* Events in quarantine become rows once, with their own ids and dates. */

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

const dayMs = 86_400_000;
const today = utcDate(Date.now());

/** Keeps events of three days in quarantine, and one event beside them. */
async function archiveWithQuarantine() {
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	const kept = (body: string, type: string, kind: string, daysAgo: number) =>
		newEvent(body, {
			sourceKey,
			quarantined: true,
			receivedAtMs: Date.now() - daysAgo * dayMs,
			violations: JSON.stringify({
				plan: "orders",
				version: "0".repeat(16),
				type,
				violations: [{ kind: "UnplannedProperty" }, { kind }],
			}),
		});
	const events = [
		kept('"old"', "paid", "TypeMismatch", 5),
		kept('"a"', "paid", "TypeMismatch", 2),
		kept('"b"', "it's", "RequiredMissing", 2),
		kept('"c"', "paid", "RequiredMissing", 0),
	];
	await archive.publish(events);
	await archive.publish([newEvent('"row"', { sourceKey })]);
	await archive.start({ maxAgeMs: 600_000 });
	const manifest = async (question: object = {}) => {
		const asked = { account: "shop", sourceKey, run: randomUUID() };
		const answer = await archive.ask({ ...asked, ...question });
		if (!answer.ok) throw new Error(answer.error.message);
		return (await (await fetch(answer.url)).json()) as Manifest;
	};
	const release = (question: object = {}) =>
		archive.askRelease({ operation: randomUUID(), ...question });
	return { archive, events, manifest, release };
}

const bodies = async (manifest: Manifest) => (await bodiesIn(manifest)).sort();

test("a release makes rows of what its filter names, on their own dates, and no other", async () => {
	const { manifest, release } = await archiveWithQuarantine();
	expect(await bodies(await manifest())).toEqual(['"row"']);
	expect(await release({ filter: { types: ["nobody's"] } })).toEqual({
		ok: true,
		dates: [],
	});
	const types = await release({ filter: { types: ["it's"] } });
	const date = addDays(today, -2);
	expect(types).toEqual({ ok: true, dates: [{ date, events: 1 }] });
	const after = await manifest();
	expect(await bodies(after)).toEqual(['"b"', '"row"']);
	const day = after.dates.find((each) => each.date === date)!;
	expect(day).toMatchObject({
		rows: 1,
		objects: [
			{ rows: 1, key: expect.stringMatching("/releases/"), released: true },
		],
	});
	const kinds = { kinds: ["RequiredMissing"] };
	expect(await release({ filter: kinds, start: today })).toMatchObject({
		dates: [{ date: today, events: 1 }],
	});
	expect(await bodies(await manifest())).toEqual(['"b"', '"c"', '"row"']);
});

test("overlapping releases, one after another or at once, make each event one row", async () => {
	const { archive, manifest, release } = await archiveWithQuarantine();
	// Another archive of the same shard, which takes some of the questions.
	await archive.start({ maxAgeMs: 600_000 });
	await release({ filter: { types: ["paid"], kinds: ["TypeMismatch"] } });
	const answers = await Promise.all(Array.from({ length: 4 }, () => release()));
	const released = answers.flatMap((answer) => (answer.ok ? answer.dates : []));
	expect(released.reduce((sum, { events }) => sum + events, 0)).toBe(2);
	expect(await bodies(await manifest())).toEqual([
		'"a"',
		'"b"',
		'"c"',
		'"old"',
		'"row"',
	]);
});

test("a repeated request of an Operation releases nothing more, and says the same", async () => {
	const { release, manifest } = await archiveWithQuarantine();
	const question = { operation: randomUUID(), filter: { types: ["it's"] } };
	const first = await release(question);
	expect(await release(question)).toEqual(first);
	// Not even if it asks for more.
	expect(
		await release({
			...question,
			filter: {},
			start: addDays(today, -2),
			end: addDays(today, -1),
		}),
	).toEqual(first);
	expect(await bodies(await manifest())).toEqual(['"b"', '"row"']);
});

test("released events leave the count of quarantine once, whatever is repeated or left unsaid", async () => {
	const { archive, manifest, release } = await archiveWithQuarantine();
	await archive.start({ maxAgeMs: 600_000 });
	const kv = await new Kvm(archive.connection).open(bucket.ledger);
	const key = addedKey(archive.sourceKey);
	const counted = async () => (await kv.get(key))?.json<AddedLedger>().released;
	const [old, twoDaysAgo] = [addDays(today, -5), addDays(today, -2)];
	const question = { operation: randomUUID(), filter: { types: ["it's"] } };
	await release(question);
	const first = await kv.get(key);
	await release(question);
	expect(await counted()).toEqual({
		[twoDaysAgo]: { events: 1, imported: 0, releases: 1 },
	});
	// Two archives answer.
	await Promise.all([release({ end: twoDaysAgo }), release()]);
	const all: AddedLedger["released"] = {
		[old]: { events: 1, imported: 0, releases: 1 },
		[twoDaysAgo]: { events: 2, imported: 0, releases: 2 },
		[today]: { events: 1, imported: 0, releases: 1 },
	};
	expect(await counted()).toEqual(all);

	// As the archive leaves it that is killed before it says so, and a NATS that has lost its data.
	const start = async () => {
		const { connection, store } = archive;
		const tombstones = new Tombstones(store);
		const signal = new AbortController().signal;
		const progress = () => NatsProgress.open(connection, 1);
		const means = { progress, store, tombstones, log };
		await new AddedLedgers(means).publishAll(signal);
	};
	await kv.put(key, first!.string());
	await start();
	expect(await counted()).toEqual(all);
	await kv.purge(key);
	await start();
	expect(await counted()).toEqual(all);
	const { revision } = (await kv.get(key))!;
	await start();
	expect((await kv.get(key))!.revision).toBe(revision);
	// Only a rebuild doubts what is published.
	const wrong = { [today]: { ...all[today]!, events: 99 } };
	const ledgerNow = first!.json<AddedLedger>();
	await kv.put(key, JSON.stringify({ ...ledgerNow, released: wrong }));
	const { ended } = startTidemill(["ledger", "rebuild"], archive.env());
	expect(await ended).toMatchObject({ exitCode: 0 });
	expect(await counted()).toEqual(all);

	const ledger = (await kv.get(archive.sourceKey))!.json<SourceLedger>();
	expect(ledger.quarantined).toEqual({ [old]: 1, [twoDaysAgo]: 2, [today]: 1 });
	const { dates } = await manifest();
	const rows = dates.map(({ date, rows }) => [date, rows]);
	const said = dates.map(({ date }) => [
		date,
		(ledger.archived[date] ?? 0) + (all[date]?.events ?? 0),
	]);
	expect(rows).toEqual(said);
});

test("a Run that continues has the dates of which events were released since the last one's manifest, once, and no others", async () => {
	const { manifest, release } = await archiveWithQuarantine();
	const rest = async (
		since: number,
		{
			run,
			earliest = addDays(today, -30),
			reloads,
		}: { run?: string; earliest?: string; reloads?: string[] },
	) => {
		const made = await manifest({
			extent: "Rest",
			start: today,
			releases: {
				earliest,
				since: new Date(since).toISOString(),
				...(run !== undefined && { run }),
				...(reloads && { reloads }),
			},
		});
		expect(made.asked).toMatchObject({ extent: "Rest", start: today });
		const dates = made.dates.map(({ date }) => date);
		expect(dates.at(-1)).toBe(today);
		return { run: made.run, dates: dates.slice(0, -1) };
	};
	const hourMs = 3_600_000;
	const now = Date.now();
	const before = await manifest();
	const { run } = await rest(now, before);
	await release({ filter: { types: ["it's"] } });
	const date = addDays(today, -2);
	// The manifest is as old as the events, and says more than any clock.
	const dirty = await rest(now, { run });
	expect(dirty.dates).toEqual([date]);
	// The Run before failed, or another Pipeline's was the last.
	expect((await rest(now, { run })).dates).toEqual([date]);
	const next = await rest(now, dirty);
	expect(next.dates).toEqual([]);
	expect((await rest(now, before)).dates).toEqual([date]);
	expect(
		(await rest(now, { run, earliest: addDays(today, -1) })).dates,
	).toEqual([]);
	// Without that manifest the clocks decide.
	expect((await rest(now - hourMs, { run: "gone" })).dates).toEqual([date]);
	expect((await rest(now, {})).dates).toEqual([date]);
	expect((await rest(now + hourMs, {})).dates).toEqual([]);
	// A Run of chosen dates counts for these, whatever is known of the others.
	const chosen = (start: string) =>
		manifest({ extent: "Chosen", start, end: date });
	const reloads = [(await chosen(date)).run];
	expect((await rest(now, { run, reloads })).dates).toEqual([]);
	expect((await rest(now, { reloads })).dates).toEqual([]);
	const other = await manifest({
		...{ extent: "Chosen", start: today, end: today },
	});
	for (const known of [other.run, "gone"])
		expect((await rest(now, { run, reloads: [known] })).dates).toEqual([date]);
	await release({ start: addDays(today, -30), end: addDays(today, -1) });
	expect((await rest(now, next)).dates).not.toEqual([]);
	// What came after the first of them, but before the second.
	const all = [addDays(today, -5), date];
	expect((await rest(now, { run, reloads })).dates).toEqual(all);
	reloads.push((await chosen(date)).run);
	expect((await rest(now, { run, reloads })).dates).toEqual(all.slice(0, 1));
});

test("an account releases nothing of another's Source, and an Operation still finds each event once", async () => {
	const { archive, manifest, release } = await archiveWithQuarantine();
	expect(await release({ account: "bank" })).toEqual({ ok: true, dates: [] });
	expect(await bodies(await manifest())).toEqual(['"row"']);
	expect(await release({ filter: { types: "paid" } })).toMatchObject({
		ok: false,
		error: { code: "QuestionInvalid" },
	});
	await release();
	const { store } = archive;
	const get = store.get.bind(store);
	// A DryRun doesn't need the records.
	store.get = (key) =>
		/(^|\/)releases\//.test(key) ? Promise.reject(new Error(key)) : get(key);
	const dry = await manifest({ report: true });
	expect(dry.dates.some((day) => day.quarantine?.released)).toBe(false);
	store.get = get;
	const { dates } = await manifest({ report: true, released: true });
	const rows = dates.map((day) => day.rows + (day.quarantine?.rows ?? 0));
	expect(rows.reduce((sum, each) => sum + each, 0)).toBe(5);
	// Which of them were released, an Inspect reads here.
	const released = dates.flatMap((day) => day.quarantine?.released ?? []);
	expect(released.map(({ rows }) => rows)).toEqual([1, 2, 1]);
	expect(released.every(({ key }) => /(^|\/)releases\//.test(key))).toBe(true);
	expect(archive.sourceKey).toMatch(/^[0-9a-f]{32}$/);
});

test("an account's long release lets another account's have its turn after each date", async () => {
	const { archive, release } = await archiveWithQuarantine();
	const bank = { account: "bank", sourceKey: randomBytes(16).toString("hex") };
	await archive.publish([newEvent('"b"', { ...bank, quarantined: true })]);
	// The first date takes until the other account waits for its turn.
	const { promise: isWaiting, resolve } = Promise.withResolvers<void>();
	const { promise: hasBegun, resolve: begin } = Promise.withResolvers<void>();
	const { store } = archive;
	const getFile = store.getFile.bind(store);
	store.getFile = async (...what) => {
		begin();
		await isWaiting;
		return getFile(...what);
	};
	const ended: string[] = [];
	const long = release().then(() => ended.push("shop"));
	await hasBegun;
	const operation = randomUUID();
	const short = archive
		.askRelease({ operation, ...bank }, (progress) => {
			if (progress.includes("other Operations")) resolve();
		})
		.then(() => ended.push("bank"));
	await Promise.all([long, short]);
	expect(ended).toEqual(["bank", "shop"]);
});

test("the deletion of a Source deletes what was released of it", async () => {
	const { archive, release } = await archiveWithQuarantine();
	await release();
	const left = () =>
		Array.fromAsync(archive.store.list(`${archive.prefix}/releases/`));
	// The objects and records of three dates.
	expect(await left()).toHaveLength(6);
	for (;;) {
		const answer = await archive.askDeletion();
		if (!answer.ok || answer.isDone) break;
	}
	expect(await left()).toEqual([]);
	const kv = await new Kvm(archive.connection).open(bucket.ledger);
	expect((await kv.get(addedKey(archive.sourceKey)))?.operation).toBe("PURGE");
});
