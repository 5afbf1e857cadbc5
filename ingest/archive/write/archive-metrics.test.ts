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

test("work that fails says for how long it has, and one that goes well 0", async () => {
	const { registry, metrics } = metricsOf(async () => []);
	const hourAgoMs = Date.now() - 3_600_000;
	metrics.tellWork("retention", true, hourAgoMs);
	metrics.tellWork("retention", true);
	metrics.tellWork("lists", true, hourAgoMs);
	metrics.tellWork("lists", false);
	const text = await registry.metrics();
	const seconds = (work: string) =>
		Number(text.match(new RegExp(`_seconds{work="${work}"} (.*)`))?.[1]);
	expect(seconds("retention")).toBeGreaterThanOrEqual(3_600);
	expect(seconds("lists")).toBe(0);
});

test("each request to the bucket is counted by its operation and the status of its answer", async () => {
	const { registry, metrics } = metricsOf(async () => []);
	const request = { operation: "PutObject", status: 200, seconds: 0.02 };
	metrics.countRequest(request);
	metrics.countRequest({ ...request, status: 0, seconds: 30 });
	const text = await registry.metrics();
	for (const line of [
		'requests_total{operation="PutObject",status="200"} 1',
		'requests_total{operation="PutObject",status="0"} 1',
		'request_seconds_bucket{le="0.03",operation="PutObject"} 1',
		'request_seconds_count{operation="PutObject"} 2',
	])
		expect(text).toContain(`tidemill_archive_store_${line}`);
});
