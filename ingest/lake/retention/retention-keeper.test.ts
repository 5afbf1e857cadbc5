import { pino } from "pino";
import { expect, test } from "vitest";
import { addDays, startOfDate } from "../../../packages/contracts/utc-date.ts";
import { AgedStore } from "../../../test/support/doubles/aged-store.ts";
import { startScriptedStore } from "../../../test/support/fixtures/data-plane/scripted-store.ts";
import { LedgerIndex } from "../../archive/ledger/ledger-index.ts";
import type { ArchiveMetrics } from "../../archive/write/archive-metrics.ts";
import { RetentionKeeper } from "./retention-keeper.ts";
import { Turns } from "./turns.ts";

/** Says who enforces 400 days, and what is in the way of so many days, with a store that refuses to tell its lifecycle rules. */
async function refused(status: number, code: string) {
	const store = await startScriptedStore((_, response) => {
		response.statusCode = status;
		response.setHeader("content-type", "application/xml");
		response.end(`<Error><Code>${code}</Code></Error>`);
	});
	const keeper = new RetentionKeeper({
		store,
		metrics: {} as ArchiveMetrics,
		log: pino({ level: "silent" }),
	});
	const record = {
		version: 1,
		account: "shop",
		sourceKey: "k",
		days: 400,
		from: "2026-01-01",
	} as const;
	return keeper.setRules([{ record, number: 1, modifiedMs: 0 }]);
}

test("rules that archive may not read are in the way of every longer retention, since one may delete", async () => {
	const { enforcedBy, problemOf } = await refused(403, "AccessDenied");
	expect(enforcedBy).toBe("sweep");
	expect(problemOf(30)).toBeUndefined();
	for (const [days, end] of [
		[400, " before 400 days are over."],
		[0, "."],
	] as const)
		expect(problemOf(days)?.message).toBe(
			`Archive may not read the bucket's lifecycle rules, and one may remove or archive events${end} Allow archive's credentials s3:GetLifecycleConfiguration and s3:PutLifecycleConfiguration.`,
		);
});

test.each([
	[405, "MethodNotAllowed"],
	[501, "NotImplemented"],
])("a store that answers %d has no rules", async (status, code) => {
	const { enforcedBy, problemOf } = await refused(status, code);
	expect(enforcedBy).toBe("sweep");
	expect(problemOf(400)).toBeUndefined();
});

const today = "2026-03-20";
const nowMs = startOfDate(today) + 3_600_000;

/** A bucket of an archive that has been at work for a hundred days. */
function agedStore(): AgedStore {
	const store = new AgedStore(nowMs);
	for (let ago = 0; ago < 100; ago++)
		store.add(store.keys.day(addDays(today, -ago)), ago);
	return store;
}

/** An archive that is at work on some shards and stands by for others. */
function archiveOf(
	store: AgedStore,
	working: number[],
	standby: number[] = [],
	options: { mostListed?: number } = {},
) {
	const shardOf = (isArchiving: boolean) => (number: number) => ({
		number,
		isArchiving,
		index: new LedgerIndex(),
		drainedAt: async () => undefined,
	});
	const retention = { reset: () => undefined, set: () => undefined };
	return new RetentionKeeper({
		store,
		turns: new Turns(store),
		shards: [...working.map(shardOf(true)), ...standby.map(shardOf(false))],
		metrics: { retention } as unknown as ArchiveMetrics,
		log: pino({ level: "silent" }),
		...options,
	});
}

const streams = [0, 1, 2, 10].map((shard) => `tidemill-frames-${shard}-aa`);

test("an archive removes the cut records of the shards that it works on; where none is at work they stay", async () => {
	const store = agedStore();
	for (const stream of streams)
		for (const [first, age] of [90, 40, 20].entries()) {
			store.add(store.keys.cut(stream, first + 1), age);
			store.add(store.keys.loss(stream, first + 1), age);
		}
	await archiveOf(store, [1], [0]).keepInTurn(nowMs);
	const left = (folder: (stream: string) => string) =>
		streams.map((stream) => store.keysIn(folder(stream)).length);
	expect(left((stream) => store.keys.cutsOfStream(stream))).toEqual([
		3, 1, 3, 3,
	]);
	expect(left((stream) => `p/losses/${stream}/`)).toEqual([3, 1, 3, 3]);
	expect(store.keysIn(store.keys.cutsOfStream(streams[1]!))).toEqual([
		store.keys.cut(streams[1]!, 3),
	]);
});

test("memory holds a page of all cut records, and those that stay aren't listed", async () => {
	const store = agedStore();
	const [expired, staying] = [8_000, 12_000];
	for (let first = 0; first < expired + staying; first++)
		store.add(store.keys.cut(streams[0]!, first), first < expired ? 40 : 10);
	for (let first = 1; first <= 3_000; first++)
		store.add(store.keys.loss(streams[0]!, first), 10);
	const archive = archiveOf(store, [0]);
	await archive.keepInTurn(nowMs);
	expect(store.keysIn(store.keys.cutsOfStream(streams[0]!))).toHaveLength(
		staying,
	);
	expect(store.listed.get(store.keys.lossesOfShard(0))).toBe(1_000);
	expect(Math.max(...store.removals)).toBe(1_000);
	const prefix = store.keys.cutsOfShard(0);
	expect(store.listed.get(prefix)).toBe(expired + 1_000);
	store.listed.clear();
	await archive.keepInTurn(nowMs);
	expect(store.listed.get(prefix)).toBe(1_000);
});

test("events, lists and records go by their dates, whichever shard had them: one archive of all removes them, also one that only stands by", async () => {
	const store = agedStore();
	const dates = [60, 40, 20].map((age) => [addDays(today, -age), age] as const);
	// Of shards that no archive has, for longer than the bucket's rounds and of Sources that no index knows.
	for (const sourceKey of ["a", "b"])
		for (const [date, age] of dates) {
			const group = { account: "shop", sourceKey, date };
			for (let first = 1; first <= 1_500; first++)
				store.add(store.keys.events(group, streams[3]!, first), age);
			store.add(store.keys.compaction(group), age - 2);
			const apart = { ...group, quarantined: true } as const;
			store.add(store.keys.compaction(apart), age - 2);
			store.add(store.keys.list(group, 10), age);
			store.add(store.keys.ledgerOfDate(group, 10), age);
		}
	const archives = [archiveOf(store, [0]), archiveOf(store, [], [0, 1])];
	for (const archive of archives.reverse()) await archive.keepInTurn(nowMs);
	const { keys } = store;
	for (const [folder, count] of [
		[keys.allEvents(), 2 * 1_500],
		[keys.compactions(), 2],
		[keys.quarantineCompactions(), 2],
		[keys.allLists(), 2],
		[keys.allDates(), 2],
	] as const)
		expect(store.keysIn(folder)).toHaveLength(count);
	// Once, and of what stays a page for each source.
	expect(store.listed.get(keys.allEvents())).toBe(2 * (2 * 1_500 + 1_000));
	store.listed.clear();
	await archives[0]!.keepInTurn(nowMs + 3_600_000);
	expect(store.listed.get(keys.allEvents())).toBe(2 * 1_000);
});

test("what was erased of a date goes with the date; that there was an erasure stays", async () => {
	const store = agedStore();
	const { keys } = store;
	for (const sourceKey of ["a", "b"]) {
		const folder = keys.erasuresOfSource({ account: "shop", sourceKey });
		for (let erasure = 1; erasure <= 1_200; erasure++)
			store.add(`${folder}asked/${erasure}.json`, 60);
		for (const age of [60, 40, 20])
			store.add(`${folder}dates/date=${addDays(today, -age)}/1.json`, age);
	}
	await archiveOf(store, []).keepInTurn(nowMs);
	const left = store.keysIn(keys.allErasures());
	expect(left.filter((key) => key.includes("/asked/"))).toHaveLength(2_400);
	expect(left.filter((key) => key.includes("/dates/"))).toEqual(
		["a", "b"].map((sourceKey) => {
			const folder = keys.erasuresOfSource({ account: "shop", sourceKey });
			return `${folder}dates/date=${addDays(today, -20)}/1.json`;
		}),
	);
});

test("what sorts by no time is looked through in parts, and each turn goes on where the one before ended, in whichever archive", async () => {
	const store = agedStore();
	for (let run = 100; run < 400; run++)
		store.add(store.keys.run(`uid-${run}`), run % 2 === 0 ? 90 : 1);
	const prefix = store.keys.allRuns();
	const left: number[] = [];
	for (let hour = 0; hour < 5; hour++) {
		const archive = archiveOf(store, [], [], { mostListed: 100 });
		await archive.keepInTurn(nowMs + hour * 3_600_000);
		left.push(store.keysIn(prefix).length);
	}
	expect(left).toEqual([250, 200, 150, 150, 150]);
	// The fourth found the end, and the fifth began anew.
	expect(store.listed.get(prefix)).toBe(3 * 100 + 100);
});

test("entries of a log go after weeks, and its newest never: numbers must not begin anew", async () => {
	const store = agedStore();
	const { keys } = store;
	const folders = [keys.deletions(), keys.additions()];
	for (const folder of folders)
		for (const [at, age] of [60, 50, 40, 60, 90].entries())
			store.add(`${folder}${at}.json`, age);
	await archiveOf(store, []).keepInTurn(nowMs);
	for (const folder of folders)
		expect(store.keysIn(folder)).toEqual([
			`${folder}2.json`,
			`${folder}4.json`,
		]);
});
