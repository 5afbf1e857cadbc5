import pino from "pino";
import { Registry } from "prom-client";
import { afterEach, expect, test, vi } from "vitest";
import { Alarm } from "./decide/alarm.ts";
import { Shard, type ShardOptions } from "./shard.ts";
import { ArchiveMetrics } from "./write/archive-metrics.ts";

afterEach(() => {
	vi.useRealTimers();
});

function shardWith(checkStore: ShardOptions["checkStore"]) {
	vi.useFakeTimers({ now: Date.UTC(2026, 2, 1), toFake: ["Date"] });
	const metrics = new ArchiveMetrics(
		new Registry(),
		() => [],
		async () => [],
	);
	const log = pino({ level: "silent" });
	return new Shard({
		number: 7,
		metrics,
		log,
		checkStore,
	} as unknown as ShardOptions);
}

test("a shard that can't begin lags for as long as it has tried", async () => {
	const checkStore = vi.fn(async () => {
		throw new Error("the store is away");
	});
	const shard = shardWith(checkStore);
	const stop = new AbortController();
	const running = shard.run(stop.signal);
	await vi.waitFor(() => expect(shard.notReady).toMatch("the store is away"));
	vi.setSystemTime(Date.UTC(2026, 2, 1, 0, 5));
	expect(shard.lagSeconds).toBe(300);
	stop.abort();
	await running;
});

test("a shard that has stopped with an alarm keeps nobody waiting", async () => {
	const shard = shardWith(async () => {
		throw new Alarm("CutsMissing", "no cuts");
	});
	const stop = new AbortController();
	const running = shard.run(stop.signal);
	await vi.waitFor(() => expect(shard.alarm).toBeDefined());
	vi.setSystemTime(Date.UTC(2026, 2, 1, 0, 5));
	expect(shard.lagSeconds).toBe(0);
	stop.abort();
	await running;
});
