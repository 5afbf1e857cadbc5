import { Agent } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { stringify } from "uuid";
import { afterAll, beforeAll, expect, test } from "vitest";
import { send, sendJSON } from "../http-client.ts";
import {
	metric,
	type ReceiveFixture,
	readFrames,
	startReceiveFixture,
} from "../receiver.ts";

/** `OUTAGE_MS=60000` makes it as long as the promise speaks of. */
const outageMs = Number(process.env.OUTAGE_MS ?? 5_000);
const senders = 50;

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

/** Sends on connections that stand, each its next when the last is answered, until told to stop. */
async function sendUntil(url: string, isOver: () => boolean) {
	const answers: Answer[] = [];
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
	return answers;
}

test(
	"while NATS is gone senders get 503 soon, and memory is bounded; when it is back they are served, and all that was acknowledged is there",
	async () => {
		const { nats, receiver, routes, admin, stream } = fixture;
		const { path } = await routes.add();
		const url = receiver.url + path;
		while ((await send(url)).status === 404);
		let isOver = false;
		const sending = sendUntil(url, () => isOver);
		await delay(2_000);
		const memory = () => metric(receiver, "process_resident_memory_bytes");
		const memoryBefore = await memory();

		const killedMs = performance.now();
		await nats.kill();
		await delay(outageMs);
		const memoryAfter = await memory();
		await nats.start();
		const backMs = performance.now();
		await expect
			.poll(async () => (await sendJSON(url, "{}")).status, {
				timeout: 10_000,
				interval: 10,
			})
			.toBe(200);
		const servedMs = performance.now();
		await delay(1_000);
		isOver = true;
		const answers = await sending;
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
			({ sentMs, answeredMs }) =>
				sentMs > killedMs + 500 && answeredMs < backMs,
		);
		expect(gone.length).toBeGreaterThan(senders);
		expect(new Set(gone.map(({ status }) => status))).toEqual(new Set([503]));
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
	outageMs + 60_000,
);
