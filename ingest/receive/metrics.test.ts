import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { Route } from "../../packages/contracts/route.ts";
import { ReceiveMetrics } from "./metrics.ts";

function route(source: string, sourceKey = source): Route {
	return {
		version: 1,
		account: "shop",
		source,
		sourceKey,
		urlKeyDigest: "",
		shard: 0,
		suspended: false,
		authorization: { type: "None" },
		maxBodyBytes: 1,
		capturedHeaders: [],
	};
}

function start() {
	const registry = new Registry();
	const inFlight = { requests: 0, bytes: 0 };
	const metrics = new ReceiveMetrics(registry, inFlight, {
		ageMs: () => 1_500,
	});
	const lines = async (name: string) =>
		(await registry.metrics())
			.split("\n")
			.filter((line) => line.startsWith(`tidemill_receive_${name}`));
	return { metrics, lines };
}

test("answers are counted by source and code; for an unknown URL without a source", async () => {
	const { metrics, lines } = start();
	metrics.answer("OK", route("orders"));
	metrics.answer("OK", route("orders"));
	metrics.answer("InvalidJSON", route("orders"));
	metrics.answer("UnknownURL");
	expect(await lines("requests_total")).toEqual([
		'tidemill_receive_requests_total{account="shop",source="orders",code="OK"} 2',
		'tidemill_receive_requests_total{account="shop",source="orders",code="InvalidJSON"} 1',
		'tidemill_receive_requests_total{account="",source="",code="UnknownURL"} 1',
	]);
});

test("a recreated source continues the counts of its name", async () => {
	const { metrics, lines } = start();
	metrics.answer("OK", route("orders", "a"));
	metrics.answer("OK", route("orders", "b"));
	expect(await lines("requests_total")).toEqual([
		'tidemill_receive_requests_total{account="shop",source="orders",code="OK"} 2',
	]);
});

test("an account's series are bounded and leave another account its own, and every answer is counted", async () => {
	const { metrics, lines } = start();
	for (let n = 0; n < 1_200; n++) metrics.answer("OK", route(`s${n}`));
	metrics.answer("OK", route("s7"));
	metrics.answer("OK", { ...route("orders"), account: "bank" });
	const series = await lines("requests_total");
	expect(series).toHaveLength(202);
	for (const line of [
		'{account="shop",source="s7",code="OK"} 2',
		'{account="shop",source="(other)",code="OK"} 1000',
		'{account="bank",source="orders",code="OK"} 1',
	])
		expect(series).toContain(`tidemill_receive_requests_total${line}`);
});

test("stored frames are measured, other frames only counted; the age of the routes is in seconds", async () => {
	const { metrics, lines } = start();
	const frame = { events: 40, bytes: 20_000, tookMs: 3 };
	metrics.frame({ outcome: "stored", ...frame });
	metrics.frame({ outcome: "refused", ...frame });
	expect(await lines("frames_total")).toEqual([
		'tidemill_receive_frames_total{outcome="stored"} 1',
		'tidemill_receive_frames_total{outcome="refused"} 1',
	]);
	expect(await lines("frame_bytes_")).toContain(
		"tidemill_receive_frame_bytes_sum 20000",
	);
	expect(await lines("frame_events_")).toContain(
		'tidemill_receive_frame_events_bucket{le="100"} 1',
	);
	expect(await lines("commit_seconds_")).toEqual(
		expect.arrayContaining([
			'tidemill_receive_commit_seconds_bucket{le="0.0025"} 0',
			'tidemill_receive_commit_seconds_bucket{le="0.005"} 1',
		]),
	);
	expect(await lines("routes_age_seconds")).toEqual([
		"tidemill_receive_routes_age_seconds 1.5",
	]);
});
