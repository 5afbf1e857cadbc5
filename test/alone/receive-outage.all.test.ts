// In make test: test/promises/answered-event-is-kept.laptop.test.ts
import { Agent } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { stringify } from "uuid";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
	metric,
	type ReceiveFixture,
	readFrames,
	startReceiveFixture,
} from "../support/fixtures/data-plane/receiver.ts";
import { sendJSON, untilKnown } from "../support/senders/http-client.ts";

/** `OUTAGE_MS=60000` makes it as long as the promise speaks of. */
const outageMs = Number(process.env.OUTAGE_MS ?? 5_000);
const senders = 50;
/** A frame's PubAck is waited for 5 s (shard-writer.ts), and some time is the machine's. */
const slowestMs = 8_000;

let fixture: ReceiveFixture;

beforeAll(async () => {
	fixture = await startReceiveFixture();
});

afterAll(() => fixture.stop());

interface Answer {
	status: number;
	eventId: string | undefined;
	sentMs: number;
	answeredMs: number;
}

/** Sends on open connections, each request after the answer to the one before, until told to stop. */
async function sendUntil(
	url: string,
	answers: Answer[],
	isOver: () => boolean,
): Promise<void> {
	const agent = new Agent({ keepAlive: true, maxSockets: senders });
	const send = async () => {
		while (!isOver()) {
			const sentMs = performance.now();
			const { status, json } = await sendJSON(url, "{}", { agent });
			const answeredMs = performance.now();
			answers.push({ status, eventId: json.event_id, sentMs, answeredMs });
			// A sender that is told to come later doesn't come at once.
			if (status !== 200) await delay(50);
		}
	};
	await Promise.all(Array.from({ length: senders }, send));
	agent.destroy();
}

test(
	"while NATS is gone senders get 503 soon, and memory is bounded; when it is back they are served, and all that was acknowledged is there",
	async () => {
		const { nats, receiver, routes, admin, stream } = fixture;
		const { path } = await routes.add();
		const url = receiver.url + path;
		await untilKnown(url);
		let isOver = false;
		const answers: Answer[] = [];
		const sending = sendUntil(url, answers, () => isOver);
		/** So many that every sender had its turn more than once, however slow the machine is. */
		const untilMany = (isMeant: (answer: Answer) => boolean) =>
			expect
				.poll(() => answers.filter(isMeant).length, { timeout: 120_000 })
				.toBeGreaterThan(2 * senders);
		await untilMany(({ status }) => status === 200);
		const memory = () => metric(receiver, "process_resident_memory_bytes");
		const memoryBefore = await memory();

		await nats.kill();
		const goneMs = performance.now();
		await delay(outageMs);
		await untilMany(({ sentMs }) => sentMs > goneMs);
		const memoryAfter = await memory();
		const startedMs = performance.now();
		await nats.start();
		const backMs = performance.now();
		await expect
			.poll(async () => (await sendJSON(url, "{}")).status, {
				timeout: 120_000,
				interval: 10,
			})
			.toBe(200);
		const servedMs = performance.now();
		await untilMany(
			({ sentMs, status }) => sentMs > servedMs && status === 200,
		);
		isOver = true;
		await sending;
		const refused = answers.filter(({ status }) => status === 503);
		const slowest = Math.max(
			...refused.map(({ sentMs, answeredMs }) => answeredMs - sentMs),
		);
		console.info(
			`${outageMs / 1000} s without NATS: ${refused.length} answers 503, the slowest after ${Math.round(slowest)} ms; served again ${Math.round(servedMs - backMs)} ms after its return`,
		);

		expect(new Set(answers.map(({ status }) => status))).toEqual(
			new Set([200, 503]),
		);
		const gone = answers.filter(
			({ sentMs, answeredMs }) => sentMs > goneMs && answeredMs < startedMs,
		);
		expect(new Set(gone.map(({ status }) => status))).toEqual(new Set([503]));
		expect(slowest).toBeLessThan(slowestMs);
		expect(memoryAfter - memoryBefore).toBeLessThan(64 * 1024 * 1024);

		const stored = new Set(
			(await readFrames(admin, stream)).flatMap(({ events }) =>
				events.map(({ id }) => stringify(id)),
			),
		);
		const lost = answers.filter(
			({ status, eventId }) => status === 200 && !stored.has(eventId!),
		);
		expect(lost).toEqual([]);
	},
	outageMs + 1_200_000,
);
