import { connect, type NatsConnection } from "@nats-io/transport-node";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NatsServerDouble } from "../../../test/support/doubles/nats-server.ts";
import { freeInput, makeRoomForInput } from "./input-room.ts";

const large = 4 * 2 ** 20;
let server: NatsServerDouble;
let connection: NatsConnection;
beforeEach(async () => {
	server = new NatsServerDouble();
	connection = await connect({
		servers: await server.listen(),
		reconnectTimeWait: 1,
	});
	makeRoomForInput(connection);
});
afterEach(async () => {
	await connection.close();
	server.close();
});

async function messagesOf(bodies: Buffer[]): Promise<Uint8Array[]> {
	const received: Uint8Array[] = [];
	const subscription = connection.subscribe("subject", { max: bodies.length });
	await connection.flush();
	server.send("subject", bodies);
	for await (const { data } of subscription) received.push(data);
	return received;
}

const body = (bytes: number, letter: string) => Buffer.alloc(bytes, letter);

test("messages of all sizes come as they were sent", async () => {
	const bodies = [large, 0, 1, 65_536, 200_000, 3, large + 1].map(
		(bytes, index) => body(bytes, String(index)),
	);
	const received = await messagesOf(bodies);
	expect(received.map((data) => Buffer.compare(data, bodies.shift()!))).toEqual(
		received.map(() => 0),
	);
});

test("a large message takes little more memory than it has bytes, also after a reconnect", async () => {
	for (let round = 0; round < 2; round++) {
		const [data] = await messagesOf([body(large, "a")]);
		expect(data!.buffer.byteLength).toBeLessThan(large + 2 ** 18);
		const reconnected = untilReconnected();
		server.socket!.destroy();
		await reconnected;
	}
});

test("the memory of a large message is free at once, and that of one that shares its chunk with others is not", async () => {
	const [first, second, third] = await messagesOf([
		body(10, "1"),
		body(10, "2"),
		body(large, "3"),
	]);
	freeInput(third!);
	freeInput(first!);
	expect(third!.buffer.byteLength).toBe(0);
	expect(() => Buffer.from(third!.buffer, 0, 10)).toThrow();
	expect(Buffer.from(first!).toString()).toBe("1".repeat(10));
	expect(Buffer.from(second!).toString()).toBe("2".repeat(10));
});

async function untilReconnected(): Promise<void> {
	for await (const { type } of connection.status())
		if (type === "reconnect") return;
}
