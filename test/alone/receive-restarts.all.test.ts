// In make test: test/promises/answered-event-is-kept.laptop.test.ts
import { Agent } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { stringify } from "uuid";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ServiceBalancer } from "../support/doubles/kubernetes/service-balancer.ts";
import {
	type ReceiveFixture,
	readFrames,
	startReceiveFixture,
	startReceiver,
	type TestReceiver,
} from "../support/fixtures/data-plane/receiver.ts";
import { sendJSON, untilKnown } from "../support/senders/http-client.ts";

/** `RESTARTS=1000` makes it as long as the promise speaks of. */
const restarts = Number(process.env.RESTARTS ?? 4);
const senders = 20;
/** Longer than the balancer takes to see that one isn't ready, as it must be in a cluster. */
const env = { RECEIVE_SHUTDOWN_DELAY_MS: "2000" };

let fixture: ReceiveFixture;
let receivers: TestReceiver[];
let balancer: ServiceBalancer;

beforeAll(async () => {
	fixture = await startReceiveFixture({}, env);
	receivers = [fixture.receiver, await startReceiver(fixture.nats, { env })];
	balancer = await ServiceBalancer.start(receivers);
	await untilAllReady();
});

afterAll(async () => {
	balancer.stop();
	await receivers[1]?.stop();
	await fixture.stop();
});

function untilAllReady(): Promise<void> {
	return vi.waitFor(
		() => expect(receivers.every((each) => balancer.isReady(each))).toBe(true),
		{ timeout: 120_000, interval: 10 },
	);
}

test(
	"two that are restarted in turn under load fail no request",
	async () => {
		const { path } = await fixture.routes.add();
		for (const { url } of receivers) await untilKnown(url + path);
		const url = `http://127.0.0.1:${balancer.port}${path}`;
		const agent = new Agent({ keepAlive: true });
		const told: string[] = [];
		const failures: string[] = [];
		let isOver = false;
		const sending = Array.from({ length: senders }, async () => {
			while (!isOver) {
				// Now and then a connection is idle at the moment when its server stops.
				await delay(Math.random() * 30);
				try {
					const { status, json } = await sendJSON(url, "{}", { agent });
					if (status === 200) told.push(json.event_id);
					else failures.push(`${status} ${json.error.code}`);
				} catch (error) {
					failures.push(String(error));
				}
			}
		});
		for (let restart = 0; restart < restarts; restart++) {
			const receiver = receivers[restart % 2]!;
			const before = told.length;
			process.kill(receiver.pid, "SIGTERM");
			expect(await receiver.ended).toBe("exit status 0");
			await receiver.start();
			await untilAllReady();
			// So that each has had its share before it is stopped.
			await vi.waitFor(
				() => expect(told.length).toBeGreaterThan(before + 100),
				{ timeout: 120_000, interval: 20 },
			);
		}
		isOver = true;
		await Promise.all(sending);
		agent.destroy();
		console.info(`${restarts} restarts, ${told.length} requests`);
		expect(failures).toEqual([]);
		const frames = await readFrames(fixture.admin, fixture.stream);
		const stored = new Set(
			frames.flatMap(({ events }) => events.map(({ id }) => stringify(id))),
		);
		expect(told.filter((id) => !stored.has(id))).toEqual([]);
	},
	1_200_000 + restarts * 20_000,
);
