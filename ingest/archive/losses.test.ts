import { pino } from "pino";
import { expect, test } from "vitest";
import { objectKeys } from "../../packages/bucket/object-keys.ts";
import { utcDate } from "../../packages/contracts/utc-date.ts";
import { MemoryStore } from "../../test/support/doubles/memory-store.ts";
import { CompactionStore } from "../lake/compaction/record.ts";
import type { CutGroup, CutRecord } from "./decide/cut.ts";
import type { Loss } from "./decide/loss.ts";
import { CutLossStore, reportLosses, settleCut } from "./losses.ts";
import { CutStore } from "./write/cut-store.ts";
import { Tombstones } from "./write/tombstones.ts";

function linesOfLog() {
	const lines: string[] = [];
	const log = pino({}, { write: (line: string) => void lines.push(line) });
	return { log, lines };
}

test("each loss is an alarm in the log, which says what is missing and that archive goes on", () => {
	const { log, lines } = linesOfLog();
	const time = "2026-03-01T12:00:00Z";
	const losses: Loss[] = [
		{ kind: "sequences", from: 4, to: 9, time },
		{ kind: "frames", process: "a1", from: 2, to: 2, time },
	];
	reportLosses(3, { stream: "s", losses }, log);
	expect(lines.map((line) => JSON.parse(line))).toMatchObject([
		{
			level: 50,
			shard: 3,
			msg: expect.stringMatching(/^ALARM: stream s: .*4 to 9.*goes on/),
		},
		{
			level: 50,
			shard: 3,
			msg: expect.stringMatching(/^ALARM: stream s: .*2 to 2.*goes on/),
		},
	]);
});

const stream = "tidemill-frames-3-aa";
const date = utcDate(Date.now());

function group(sourceKey: string, more: Partial<CutGroup> = {}): CutGroup {
	const lastEventTime = `${date}T00:00:00.000Z`;
	return { account: "shop", sourceKey, date, rows: 2, lastEventTime, ...more };
}

/** A cut of these groups in the store, whose clock stands in 1970, and two archivers of its shard. */
async function open(...groups: CutGroup[]) {
	const store = new MemoryStore();
	const keys = objectKeys("");
	const mark = { id: "x", time: `${date}T00:00:00.000Z` };
	const cut: CutRecord = {
		version: 1,
		stream,
		first: 5,
		last: 9,
		firstFrame: mark,
		lastFrame: mark,
		repeated: [],
		processes: {},
		groups,
	};
	await new CutStore(store).decide(cut);
	const losses = new CutLossStore(store, new CompactionStore(store));
	const { log, lines } = linesOfLog();
	const settle = (isHeld = false, natsTime = new Date().toISOString()) =>
		settleCut(cut, isHeld, {
			shard: 3,
			losses,
			tombstones: new Tombstones(store),
			log,
			natsTime,
		});
	const write = (of: CutGroup) =>
		store.putNew(keys.events(of, stream, 5), "rows");
	return { store, losses, lines, settle, write };
}

test("what one archiver has decided to be lost of a cut stays decided for others, and is logged once", async () => {
	const [a, b] = [group("a"), group("b")];
	const { losses, lines, settle, write } = await open(a, b);
	await write(a);
	const first = await settle();
	expect(first?.loss.groups).toMatchObject([{ sourceKey: "b", rows: 2 }]);
	// Its writer was asleep.
	await write(b);
	expect(await settle()).toEqual(first);
	expect(await losses.ofShard(3)).toEqual([first]);
	expect(lines).toHaveLength(1);
	expect(lines[0]).toContain(`2 events of source b (account shop) on ${date}`);
});

test("no clock alone gives up a cut that another archiver may still finish", async () => {
	const { store, losses, settle } = await open(group("a"));
	const settleAt = (ms: number) => settle(false, new Date(ms).toISOString());
	const decidedMs = await losses.decidedMs({ stream, first: 5 } as CutRecord);
	expect(decidedMs).toBeLessThan(Date.now() - 365 * 86_400_000);
	// By this process's clock it was decided years ago, and by NATS's just now, or it will be.
	for (const natsMs of [decidedMs, decidedMs - 3 * 86_400_000])
		await expect(settleAt(natsMs)).rejects.toThrow("may be writing");
	expect(await losses.ofShard(3)).toEqual([]);
	const key = store.keys.cut(stream, 5);
	const listed = store.list.bind(store);
	store.list = async function* (prefix: string) {
		for await (const object of listed(prefix))
			yield object.key === key ? { ...object, modifiedMs: Date.now() } : object;
	};
	// The other way round.
	await expect(settleAt(Date.now() + 3 * 86_400_000)).rejects.toThrow(
		"may be writing",
	);
});

test("a cut that had all its objects loses none afterwards, and nothing is logged", async () => {
	const a = group("a");
	const { store, lines, settle, write } = await open(a);
	await write(a);
	await settle();
	await store.remove([store.keys.events(a, stream, 5)]);
	expect((await settle())?.loss.groups).toEqual([]);
	expect(lines).toEqual([]);
});

test("an object that a compaction has replaced isn't missing, in quarantine neither, and the record of the one says nothing of the other", async () => {
	const [a, apart] = [group("a"), group("a", { quarantined: true })];
	const { store, settle } = await open(a, apart);
	const inputs = [store.keys.events(a, stream, 5).split("/").at(-1)!];
	const outputs = [{ name: "o", rows: 2, bytes: 1, sha256: "", inputs }];
	const { account, sourceKey } = a;
	const record = { version: 1, account, sourceKey, date, outputs };
	await store.putNew(store.keys.compaction(a), JSON.stringify(record));
	expect((await settle())?.loss.groups).toMatchObject([{ quarantined: true }]);
	await store.remove([store.keys.loss(stream, 5)]);
	await store.putNew(store.keys.compaction(apart), JSON.stringify(record));
	expect((await settle())?.loss.groups).toEqual([]);
});

test("while the stream holds the frames, nothing is decided, and the log says what to do", async () => {
	const { losses, lines, settle } = await open(group("a"));
	expect(await settle(true)).toBeUndefined();
	expect(await losses.ofShard(3)).toEqual([]);
	expect(lines).toHaveLength(1);
	expect(lines[0]).toContain("Delete the stream that was left");
});
