import { setImmediate } from "node:timers/promises";
import pino from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import type { CutRecord } from "../decide/cut.ts";
import type { NatsProgress } from "../write/nats-progress.ts";
import { Tombstones } from "../write/tombstones.ts";
import { LedgerSnapshots } from "./ledger-snapshots.ts";
import { ShardLedger } from "./shard-ledger.ts";

beforeEach(() => {
	vi.useFakeTimers();
});
afterEach(() => {
	vi.useRealTimers();
});

/** A cut of one event of each source. */
function cut(number: number, sources: number): CutRecord {
	const time = "2026-03-01T12:00:00.000Z";
	const mark = { id: "x", time };
	return {
		version: 1,
		stream: "tidemill-frames-7-aa",
		first: number,
		last: number,
		firstFrame: mark,
		lastFrame: mark,
		repeated: [],
		processes: {},
		groups: Array.from({ length: sources }, (_, source) => ({
			account: "shop",
			sourceKey: `${source}`,
			date: "2026-03-01",
			rows: 1,
			lastEventTime: time,
		})),
	};
}

function newLedger() {
	const store = new MemoryStore();
	const log = pino({ level: "silent" });
	const snapshots = new LedgerSnapshots(store, log);
	const ledger = new ShardLedger(7, snapshots, new Tombstones(store), log);
	const setLedger = vi.fn<NatsProgress["setLedger"]>(async () => undefined);
	const setShard = async () => undefined;
	const progress = { setLedger, setShard } as unknown as NatsProgress;
	return { ledger, progress, setLedger, snapshots, log };
}

test("the ledgers of many sources are published a hundred a second, however many cuts there are, and the last state in the end", async () => {
	const { ledger, progress, setLedger } = newLedger();
	for (let number = 1; number <= 100; number++) {
		ledger.learn(cut(number, 1_000));
		await ledger.publish(progress);
		await vi.advanceTimersByTimeAsync(200);
	}
	// In twenty seconds.
	expect(setLedger.mock.calls.length).toBeGreaterThan(1_900);
	expect(setLedger.mock.calls.length).toBeLessThanOrEqual(2_016);
	await vi.advanceTimersByTimeAsync(10_000);
	const last = setLedger.mock.calls.slice(-1_000).map(([ledger]) => ledger);
	expect(new Set(last.map(({ sourceKey }) => sourceKey)).size).toBe(1_000);
	for (const { archived } of last) expect(archived["2026-03-01"]).toBe(100);
	await vi.advanceTimersByTimeAsync(10_000);
	expect(setLedger.mock.calls.length).toBeLessThanOrEqual(3_016);
});

test("the ledgers of few sources follow their cut at once", async () => {
	const { ledger, progress, setLedger } = newLedger();
	for (let number = 1; number <= 3; number++) {
		ledger.learn(cut(number, 16));
		await ledger.publish(progress);
		expect(setLedger).toHaveBeenCalledTimes(16 * number);
	}
});

test("a ledger that NATS didn't take is published again, whether it came at once or later", async () => {
	const { ledger, progress, setLedger } = newLedger();
	setLedger.mockRejectedValueOnce(new Error("NATS is away"));
	ledger.learn(cut(1, 20));
	await expect(ledger.publish(progress)).rejects.toThrow("NATS is away");
	await ledger.publish(progress);
	expect(setLedger).toHaveBeenCalledTimes(16 + 5);
	ledger.learn(cut(2, 40));
	await ledger.publish(progress);
	setLedger.mockRejectedValueOnce(new Error("NATS is away again"));
	await vi.advanceTimersByTimeAsync(1_000);
	await expect(ledger.publish(progress)).rejects.toThrow("NATS is away again");
	setLedger.mockClear();
	await ledger.publish(progress);
	expect(setLedger).toHaveBeenCalledTimes(40 - 16 - 16 + 1);
	setLedger.mockClear();
	await ledger.publish(progress);
	await vi.advanceTimersByTimeAsync(1_000);
	expect(setLedger).not.toHaveBeenCalled();
});

test("a NATS that has lost its disk is told everything again, losses too", async () => {
	const { ledger, progress, setLedger } = newLedger();
	const setShard = vi.spyOn(progress, "setShard");
	ledger.learn(cut(1, 3));
	await ledger.publish(progress);
	await ledger.publish(progress);
	expect([setLedger, setShard].map(({ mock }) => mock.calls.length)).toEqual([
		3, 1,
	]);
	ledger.publishAgain();
	await ledger.publish(progress);
	expect([setLedger, setShard].map(({ mock }) => mock.calls.length)).toEqual([
		6, 2,
	]);
});

test("what is lost of a cut doesn't count, whether the cut is learned before or after that is known", async () => {
	const store = new MemoryStore();
	const log = pino({ level: "silent" });
	const snapshots = new LedgerSnapshots(store, log);
	const ledger = new ShardLedger(7, snapshots, new Tombstones(store), log);
	const lost = (from: number) => {
		const { stream, groups } = cut(from, 1);
		const time = "2026-03-01T12:00:00.000Z";
		const loss = { kind: "objects" as const, from, to: from, groups, time };
		return { version: 1 as const, stream, loss };
	};
	ledger.learn(cut(1, 2));
	ledger.lose([lost(1), lost(2)]);
	ledger.learn(cut(2, 2));
	ledger.learn(cut(3, 2));
	const rowsOf = (source: string) =>
		ledger.index.source("shop", source)?.objects.get("2026-03-01")?.rows;
	expect([rowsOf("0"), rowsOf("1")]).toEqual([1, 3]);
	expect([...ledger.index.lostFrames.values()]).toEqual([2]);
});

test("a snapshot that fails is a warning: the cuts' ledgers are published, and it is tried again fifty cuts later, until it succeeds", async () => {
	const { ledger, progress, setLedger, snapshots, log } = newLedger();
	const warn = vi.spyOn(log, "warn");
	const write = vi.spyOn(snapshots, "write");
	write.mockRejectedValue(new RangeError("Invalid string length"));
	for (let number = 1; number <= 600; number++) {
		ledger.learn(cut(number, 1));
		await ledger.publish(progress);
		await setImmediate();
	}
	expect(setLedger).toHaveBeenCalledTimes(600);
	expect(write).toHaveBeenCalledTimes(3);
	expect(warn).toHaveBeenCalledTimes(3);
	expect(warn.mock.lastCall![0]).toMatchObject({ shard: 7, cuts: 600 });
	write.mockRestore();
	for (let number = 601; number <= 650; number++) {
		ledger.learn(cut(number, 1));
		await ledger.publish(progress);
	}
	const restored = await vi.waitUntil(() => snapshots.newest(7));
	expect([...restored.newestOfStream.values()]).toEqual([
		{ first: 650, last: 650 },
	]);
	expect(warn).toHaveBeenCalledTimes(3);
});

test("nobody waits for a snapshot, and there is one at a time", async () => {
	const { ledger, progress, setLedger, snapshots } = newLedger();
	const write = vi.spyOn(snapshots, "write");
	const finish: (() => void)[] = [];
	write.mockImplementation(
		() => new Promise((resolve) => finish.push(resolve)),
	);
	const archive = async (from: number, to: number) => {
		for (let number = from; number <= to; number++) {
			ledger.learn(cut(number, 1));
			await ledger.publish(progress);
		}
	};
	await archive(1, 1_200);
	expect(setLedger).toHaveBeenCalledTimes(1_200);
	expect(write).toHaveBeenCalledTimes(1);
	finish[0]!();
	await setImmediate();
	// The 700 cuts since the first one began are due at once.
	await archive(1_201, 1_201);
	expect(write).toHaveBeenCalledTimes(2);
});
