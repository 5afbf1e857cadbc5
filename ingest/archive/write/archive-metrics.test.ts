import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { ShardReading } from "../../../packages/service/backlog-metrics.ts";
import { ArchiveMetrics } from "./archive-metrics.ts";

function metricsOf(backlogs: () => Promise<ShardReading[]>) {
	const registry = new Registry();
	const metrics = new ArchiveMetrics(registry, () => [], backlogs);
	const lag = async () => {
		const text = await registry.metrics();
		return text.match(/^tidemill_archive_lag_seconds.*$/m)?.[0];
	};
	return { registry, metrics, lag };
}

test("the lag is the stream's, also of an archive that stands by", async () => {
	const backlog = {
		frames: 3,
		bytes: 900,
		limitBytes: 1000,
		lagSeconds: 42,
	};
	const { metrics, lag } = metricsOf(async () => [{ shard: 0, backlog }]);
	metrics.active.set({ shard: 0 }, 0);
	expect(await lag()).toBe('tidemill_archive_lag_seconds{shard="0"} 42');
});

test("an archive that doesn't reach NATS says nothing of the lag, rather than 0 or what it was", async () => {
	let isAway = false;
	const { lag } = metricsOf(async () => {
		if (isAway) throw new Error("no answer");
		return [
			{
				shard: 0,
				backlog: { frames: 1, bytes: 9, limitBytes: undefined, lagSeconds: 7 },
			},
		];
	});
	expect(await lag()).toMatch(/ 7$/);
	isAway = true;
	expect(await lag()).toBeUndefined();
});

test("a shard whose stream doesn't answer says so, one without a stream says nothing, and the others tell their figures", async () => {
	const backlog = {
		...{ frames: 1, bytes: 9 },
		...{ limitBytes: undefined, lagSeconds: 7 },
	};
	const { registry } = metricsOf(async () => [
		{ shard: 0, error: new Error("timeout") },
		{ shard: 1 },
		{ shard: 2, backlog },
	]);
	const text = await registry.metrics();
	expect(text.match(/^tidemill_archive_(lag|stream_up).*$/gm)).toEqual([
		'tidemill_archive_stream_up{shard="0"} 0',
		'tidemill_archive_stream_up{shard="2"} 1',
		'tidemill_archive_lag_seconds{shard="2"} 7',
	]);
});
