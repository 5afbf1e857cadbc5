import type { CDPSession, Page } from "playwright-core";
import type { ConsoleSession } from "../../../test/console/browser.ts";
import { webhookURL } from "../../../test/console/shop.ts";
import {
	compared,
	figure,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import { memory } from "../measure/process-cost.ts";
import { load } from "../receive/leg.ts";

const minutes = Number(process.env.BENCH_MINUTES || 5);
const perSecond = Number(process.env.BENCH_PER_SECOND || 1_000);
const pieces = 10;
/** V8 compiles what it runs often, which takes a minute. */
const warmUpMs = 60_000;

/**
 * A tab that follows a Source which gets 1,000 events/s, for five minutes unless `BENCH_MINUTES` says more: what it holds, it holds
 * after a minute. So the memory in the last third of the time is compared with that in the first.
 */
export async function longTail(
	visitor: ConsoleSession,
	say: Say,
): Promise<Measurement[]> {
	const { page, open } = visitor;
	const url = new URL(await webhookURL(visitor));
	const contender = {
		host: url.hostname,
		port: Number(url.port),
		paths: [url.pathname],
	};
	const flood = (measureMs: number) =>
		load(contender, {
			...{ measureMs, warmUpMs: 0 },
			...{ connections: 32, requestsPerSecond: perSecond },
		});
	await open("sources/shop");
	await page.getByRole("button", { name: "Follow new events" }).click();
	await page.getByText("New events show here as they come.").waitFor();
	const debug = await page.context().newCDPSession(page);
	await debug.send("Performance.enable");
	await flood(warmUpMs);
	say(`after a minute: ${(await heapMB(debug)).toFixed(1)} MB`);
	const before = await taskMs(debug);
	const heaps: number[] = [];
	const resident: number[] = [];
	const nodes: number[] = [];
	for (let piece = 0; piece < pieces; piece++) {
		const { answers } = await flood((minutes * 60_000) / pieces);
		heaps.push(await heapMB(debug));
		resident.push(await residentMB(page));
		nodes.push(await metric(debug, "Nodes"));
		say(
			`after ${answers} events more: heap ${heaps.at(-1)!.toFixed(1)} MB, process ${resident.at(-1)!.toFixed(0)} MB, ${nodes.at(-1)} nodes`,
		);
	}
	const busyMs = (await taskMs(debug)) - before;
	await debug.detach();
	return [
		compared(
			`a tab's JavaScript heap after ${minutes} min of a tail of ${perSecond} events/s, against its first third`,
			"MB",
			heaps.slice(-3),
			heaps.slice(0, 3),
			{ ratioAtMost: 1.2 },
		),
		compared(
			"resident memory of the tab's processes, likewise",
			"MB",
			resident.slice(-3),
			resident.slice(0, 3),
		),
		compared(
			"nodes of its document, likewise",
			"nodes",
			nodes.slice(-3),
			nodes.slice(0, 3),
		),
		figure(
			"time of the tab's main thread meanwhile",
			(100 * busyMs) / (minutes * 60_000),
			"%",
		),
	];
}

/** What is left after a collection of garbage. */
async function heapMB(debug: CDPSession): Promise<number> {
	await debug.send("HeapProfiler.collectGarbage");
	const { usedSize } = await debug.send("Runtime.getHeapUsage");
	return usedSize / 1024 ** 2;
}

/** Of all processes that Chromium renders pages in. */
async function residentMB(page: Page): Promise<number> {
	const debug = await page.context().browser()!.newBrowserCDPSession();
	const { processInfo } = await debug.send("SystemInfo.getProcessInfo");
	await debug.detach();
	const renderers = processInfo.filter(({ type }) => type === "renderer");
	const each = await Promise.all(renderers.map(({ id }) => memory(id)));
	return each.reduce((sum, one) => sum + one.residentBytes, 0) / 1024 ** 2;
}

async function taskMs(debug: CDPSession): Promise<number> {
	return (await metric(debug, "TaskDuration")) * 1_000;
}

async function metric(debug: CDPSession, name: string): Promise<number> {
	const { metrics } = await debug.send("Performance.getMetrics");
	return metrics.find((one) => one.name === name)!.value;
}
