import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { type DataPlane, startDataPlane } from "../data-plane.ts";
import { type Sent, sendPersistently } from "../persistent-sender.ts";
import { seededRandom } from "../seeded-random.ts";

/** `make chaos FAULTS=…`; a few by default, so that every `make test` has some. */
const faults = Number(process.env.CHAOS_FAULTS ?? 8);
const longestMs = 1_500;

type Random = () => number;

/** What is done to a part of the data plane, for some time; afterwards it serves again. */
const inflictions: Record<
	string,
	(plane: DataPlane, part: string, ms: number) => Promise<void>
> = {
	kill: async ({ parts }, part, ms) => {
		await parts[part]!.kill();
		await delay(ms);
		await parts[part]!.start();
	},
	/** A zombie: it wakes in the middle of what it did. */
	stop: async ({ parts }, part, ms) => {
		process.kill(parts[part]!.pid, "SIGSTOP");
		await delay(ms);
		process.kill(parts[part]!.pid, "SIGCONT");
	},
};

test("each acknowledged event is in one object once, whatever is killed or stopped for a while", async () => {
	const random = seededRandom();
	const plane = await startDataPlane();
	onTestFinished(plane.stop);
	const sent: Sent = { acknowledged: new Map(), unknown: new Set() };
	let isOver = false;
	const body = (n: number) => JSON.stringify({ n, text: "x".repeat(n % 997) });
	const sending = sendPersistently(plane.url, 6, body, () => isOver, sent);
	try {
		for (let fault = 0; fault < faults; fault++) {
			await untilAcknowledged(sent, sent.acknowledged.size + random() * 200);
			const part = pick(random, Object.keys(plane.parts));
			const name = pick(random, Object.keys(inflictions));
			const ms = Math.floor(random() ** 2 * longestMs);
			console.log(`${fault + 1}: ${name} ${part} for ${ms} ms`);
			await inflictions[name]!(plane, part, ms);
		}
		await untilAcknowledged(sent, sent.acknowledged.size + 50);
	} finally {
		isOver = true;
		await sending;
	}
	await vi.waitFor(
		async () =>
			expect(await plane.archive.streamState()).toMatchObject({ messages: 0 }),
		{ timeout: 120_000, interval: 100 },
	);
	await expectExactlyOnce(plane, sent);
	await expectUnbroken(plane);
});

async function expectExactlyOnce(plane: DataPlane, sent: Sent) {
	const rows = await plane.rows();
	console.log(
		`${sent.acknowledged.size} events acknowledged, ${sent.unknown.size} unknown, ${rows.length} rows`,
	);
	const digests = new Map(rows.map((row) => [row.event_id, row.digest]));
	expect(digests.size).toBe(rows.length);
	expect(new Set(digests.values()).size).toBe(rows.length);
	for (const [id, digest] of sent.acknowledged)
		expect(digests.get(id), `event ${id}`).toBe(digest);
	for (const { event_id, digest } of rows)
		if (!sent.acknowledged.has(event_id))
			expect(sent.unknown).toContain(digest);
	for (const { date, received } of rows) expect(date).toBe(received);
}

/** The cuts of the stream follow each other without a gap. */
async function expectUnbroken(plane: DataPlane) {
	const cuts = await plane.cuts();
	let next = 1;
	for (const { first, last } of cuts) {
		expect(first).toBe(next);
		next = last + 1;
	}
	expect(next).toBe((await plane.archive.lastSequence()) + 1);
}

function untilAcknowledged(sent: Sent, count: number) {
	return vi.waitFor(
		() => expect(sent.acknowledged.size).toBeGreaterThan(count),
		{ timeout: 60_000, interval: 5 },
	);
}

function pick<T>(random: Random, list: T[]): T {
	return list[Math.floor(random() * list.length)]!;
}
