import { runKind } from "../../../crds/generated/types.ts";
import type { ConsoleSession } from "../../../test/console/browser.ts";
import {
	compared,
	figure,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import { roundsOf } from "../measure/rounds.ts";
import { noteFirstRow } from "./first-view.ts";

const few = 100;
const many = 10_000;
const rounds = roundsOf(5);
const atOnce = 32;

/** The list of 10,000 Runs, and that of Sources beside them, against 100 Runs. The operator is away meanwhile, since it would take a part of the two cores. */
export async function manyRuns(
	visitor: ConsoleSession,
	say: Say,
): Promise<Measurement[]> {
	const { local } = visitor;
	let all: Measurement[] = [];
	await local.whileAway("operator", async () => {
		await createRuns(visitor, 0, few);
		const fewMs = await viewsOf(visitor, "runs");
		const besideFewMs = await viewsOf(visitor, "sources");
		say(`with ${few} Runs: ${fewMs.map((ms) => ms.toFixed(0))} ms`);
		await createRuns(visitor, few, many);
		const manyMs = await viewsOf(visitor, "runs");
		const besideManyMs = await viewsOf(visitor, "sources");
		say(`with ${many} Runs: ${manyMs.map((ms) => ms.toFixed(0))} ms`);
		all = [
			compared(
				`until the list of ${many} Runs shows its first row, against ${few}`,
				"ms",
				manyMs,
				fewMs,
				{ atMost: 1_000 },
			),
			compared(
				`until the list of Sources of a namespace with ${many} Runs shows its first row, against ${few}`,
				"ms",
				besideManyMs,
				besideFewMs,
				{ atMost: 1_000 },
			),
			figure("the tab's JavaScript heap then", await heapMB(visitor), "MB"),
			figure(
				"the longest time that the page doesn't answer, while it shows them",
				await longestTaskMs(visitor),
				"ms",
			),
		];
	});
	return all;
}

async function createRuns(
	{ local }: ConsoleSession,
	from: number,
	to: number,
): Promise<void> {
	let next = from;
	const createOn = async () => {
		for (let n = next++; n < to; n = next++)
			await local.client.create(runKind, {
				metadata: { name: `orders-${n}`, namespace: local.namespace },
				spec: { pipelineRef: { name: "orders" } },
			} as never);
	};
	await Promise.all(Array.from({ length: atOnce }, createOn));
}

async function viewsOf(
	{ page, open }: ConsoleSession,
	path: string,
): Promise<number[]> {
	const times: number[] = [];
	await page.addInitScript(noteFirstRow);
	for (let round = 0; round < rounds; round++) {
		await open(path);
		const shown = await page.waitForFunction(
			() => (globalThis as { shownAfterMs?: number }).shownAfterMs,
		);
		times.push((await shown.jsonValue())!);
	}
	return times;
}

async function heapMB({ page }: ConsoleSession): Promise<number> {
	const debug = await page.context().newCDPSession(page);
	await debug.send("HeapProfiler.collectGarbage");
	const { usedSize } = await debug.send("Runtime.getHeapUsage");
	await debug.detach();
	return usedSize / 1024 ** 2;
}

/** By what the browser calls a long task (W3C Long Tasks), of 50 ms and more. */
async function longestTaskMs({ page, open }: ConsoleSession): Promise<number> {
	await page.addInitScript(
		`globalThis.longestMs = 0; new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) longestMs = Math.max(longestMs, duration); }).observe({ type: "longtask", buffered: true });`,
	);
	await open("runs");
	await page.getByRole("rowheader").first().waitFor();
	await page.getByRole("combobox", { name: "View" }).selectOption("calendar");
	await page
		.getByRole("link", { name: /Pending/ })
		.first()
		.waitFor();
	return page.evaluate(() => (globalThis as { longestMs?: number }).longestMs!);
}
