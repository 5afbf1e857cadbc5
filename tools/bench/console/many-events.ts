import type { Page } from "playwright-core";
import type { ConsoleSession } from "../../../test/console/browser.ts";
import { webhookURL } from "../../../test/console/shop.ts";
import {
	compared,
	figure,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import { roundsOf } from "../measure/rounds.ts";
import { load } from "../receive/leg.ts";

const few = 1_000;
const many = Number(process.env.BENCH_EVENTS || 1_000_000);
const rounds = roundsOf(5);
const pieceMs = 10_000;

/**
 * The page of a Source with a million events, unless `BENCH_EVENTS` says otherwise, against the same Source with a thousand: until
 * it shows the newest ones, and until it shows older ones for who asks.
 */
export async function manyEvents(
	visitor: ConsoleSession,
	say: Say,
): Promise<Measurement[]> {
	const url = new URL(await webhookURL(visitor));
	const contender = {
		host: url.hostname,
		port: Number(url.port),
		paths: [url.pathname],
	};
	let sent = 0;
	const sendUntil = async (count: number, measureMs: number) => {
		while (sent < count) {
			const order = { measureMs, warmUpMs: 0, connections: 64 };
			sent += (await load(contender, order)).answers;
			say(`${sent} events are accepted`);
		}
	};
	await sendUntil(few, 1_000);
	const before = sent;
	const beside = await viewsOf(visitor, say);
	await sendUntil(many, pieceMs);
	const views = await viewsOf(visitor, say);
	const against = `of ${sent} events, against ${before}`;
	return [
		compared(
			`until the page of a Source shows the newest ${against}`,
			"ms",
			views.newest,
			beside.newest,
			{ atMost: 1_000 },
		),
		compared(
			`until it shows older ones ${against}`,
			"ms",
			views.older,
			beside.older,
			{ atMost: 1_000 },
		),
		figure("the tab's JavaScript heap then", views.heapMB, "MB"),
	];
}

async function viewsOf(visitor: ConsoleSession, say: Say) {
	const { page, open } = visitor;
	const newest: number[] = [];
	const older: number[] = [];
	for (let round = 0; round < rounds; round++) {
		// The page of before has rows of its own.
		await open("runs");
		let from = performance.now();
		await open("sources/shop");
		const rows = await untilMoreThan(page, 0);
		newest.push(performance.now() - from);
		from = performance.now();
		await page.getByRole("button", { name: "Show older events" }).click();
		await untilMoreThan(page, rows);
		older.push(performance.now() - from);
	}
	say(`newest: ${newest.map(Math.round)} ms; older: ${older.map(Math.round)}`);
	const debug = await page.context().newCDPSession(page);
	await debug.send("HeapProfiler.collectGarbage");
	const { usedSize } = await debug.send("Runtime.getHeapUsage");
	await debug.detach();
	return { newest, older, heapMB: usedSize / 1024 ** 2 };
}

/** Waits until the list of stored events has more rows, and returns how many it has. */
async function untilMoreThan(page: Page, rows: number): Promise<number> {
	const listed = page
		.getByRole("region", { name: "Stored events" })
		.getByRole("row");
	await listed.nth(rows).waitFor();
	return listed.count();
}
