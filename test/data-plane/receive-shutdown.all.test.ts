// In make test: test/data-plane/receive.laptop.test.ts
import { once } from "node:events";
import { Agent } from "node:http";
import { connect } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
	metric,
	type ReceiveFixture,
	readFrames,
	reasonNotReady,
	startReceiveFixture,
} from "../support/fixtures/data-plane/receiver.ts";
import { sendJSON, untilKnown } from "../support/senders/http-client.ts";

const wait = { timeout: 120_000, interval: 20 };
let fixture: ReceiveFixture;
let url: string;

beforeEach(async () => {
	fixture = await startReceiveFixture();
	const { path } = await fixture.routes.add();
	url = fixture.receiver.url + path;
	await untilKnown(url);
});

afterEach(() => fixture.stop());

/** A sender that has sent the first half of an event and sends the rest on demand. */
function startEvent(): { finish(): Promise<string> } {
	const { hostname, port, pathname } = new URL(url);
	const socket = connect({ host: hostname, port: Number(port) });
	let received = "";
	socket.setEncoding("latin1").on("data", (chunk) => {
		received += chunk;
	});
	socket.write(
		`POST ${pathname} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{`,
	);
	return {
		finish: async () => {
			socket.write("}");
			await once(socket, "close");
			return received;
		},
	};
}

test("on SIGTERM receive answers accepted requests, accepts no new ones, and exits with 0", async () => {
	const { receiver, admin, stream } = fixture;
	const senders = Array.from({ length: 20 }, startEvent);
	await vi.waitFor(
		async () =>
			expect(
				await metric(receiver, "tidemill_receive_in_flight_requests"),
			).toBe(20),
		wait,
	);
	process.kill(receiver.pid, "SIGTERM");
	await vi.waitFor(
		async () => expect(await reasonNotReady(receiver)).toBe("stopping"),
		wait,
	);
	// The socket closes a moment later.
	await vi.waitFor(
		() => expect(sendJSON(url, "late")).rejects.toThrow("ECONNREFUSED"),
		wait,
	);

	for (const answer of senders.map((sender) => sender.finish()))
		expect(await answer).toMatch(/^HTTP\/1.1 200 OK\r\n/);
	expect(await receiver.ended).toBe("exit status 0");
	const frames = await readFrames(admin, stream);
	expect(frames.flatMap(({ events }) => events)).toHaveLength(20);
});

test("on SIGTERM under load no request on an open connection fails, and each answer closes its connection", async () => {
	const { receiver } = fixture;
	const statuses = new Set<number>();
	let answered = 0;
	const senders = Array.from({ length: 30 }, async () => {
		const agent = new Agent({ keepAlive: true, maxSockets: 1 });
		for (;;) {
			const { status, headers } = await sendJSON(url, "{}", { agent });
			statuses.add(status);
			answered++;
			if (headers.connection === "close") break;
		}
		agent.destroy();
	});
	await vi.waitFor(() => expect(answered).toBeGreaterThan(500), wait);
	process.kill(receiver.pid, "SIGTERM");
	await Promise.all(senders);
	expect([...statuses]).toEqual([200]);
	expect(await receiver.ended).toBe("exit status 0");
});

test("on SIGTERM before its first connection to NATS receive exits with 0", async () => {
	const { nats, receiver } = fixture;
	await receiver.kill();
	await nats.kill();
	await receiver.start();
	process.kill(receiver.pid, "SIGTERM");
	expect(await receiver.ended).toBe("exit status 0");
});
