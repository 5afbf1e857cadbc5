import type { CDPSession } from "playwright-core";
import type { ConsoleSession } from "../../../test/console/browser.ts";
import { webhookURL } from "../../../test/console/shop.ts";
import {
	compared,
	figure,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import { load } from "../receive/leg.ts";

const minutes = Number(process.env.BENCH_MINUTES || 2);
const perSecond = 1_000;

/**
 * A tab that follows a Source which gets 1,000 events/s, for minutes and not for an hour: what it holds, it holds after seconds. So
 * the memory after the first tenth of the time is compared with that at the end.
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
	await flood(minutes * 6_000);
	const early = await heapMB(debug);
	say(`after a tenth: ${early.toFixed(1)} MB`);
	const before = await taskMs(debug);
	const { answers } = await flood(minutes * 54_000);
	const busyMs = (await taskMs(debug)) - before;
	const late = await heapMB(debug);
	say(`after ${answers} events more: ${late.toFixed(1)} MB`);
	await debug.detach();
	return [
		compared(
			`a tab's JavaScript heap after ${minutes} min of a tail of ${perSecond} events/s, against a tenth of that`,
			"MB",
			late,
			early,
			{ ratioAtMost: 1.2 },
		),
		figure(
			"time of the tab's main thread meanwhile",
			(100 * busyMs) / (minutes * 54_000),
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

async function taskMs(debug: CDPSession): Promise<number> {
	const { metrics } = await debug.send("Performance.getMetrics");
	return metrics.find(({ name }) => name === "TaskDuration")!.value * 1_000;
}
