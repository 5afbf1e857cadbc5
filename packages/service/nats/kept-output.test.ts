import { connect } from "@nats-io/transport-node";
import { expect, test, vi } from "vitest";
import { NatsServerDouble } from "../../../test/support/doubles/nats-server.ts";
import { keepOutput } from "./kept-output.ts";

test("what is sent arrives as it is, even if the server reads it late", async () => {
	const server = new NatsServerDouble();
	const connection = await connect({ servers: await server.listen() });
	try {
		keepOutput(connection);
		server.socket!.pause();
		const messages = Array.from({ length: 8 }, (_, n) =>
			String(n).repeat(2 ** 20),
		);
		for (const message of messages) {
			connection.publish("subject", message);
			await new Promise(setImmediate);
		}
		server.socket!.resume();
		await connection.flush();
		const sent = messages.map(
			(message) => `PUB subject ${message.length}\r\n${message}\r\n`,
		);
		expect(server.received.join("").includes(sent.join(""))).toBe(true);
	} finally {
		await connection.close();
		server.close();
	}
});

test("the memory of what was sent is used again", async () => {
	const server = new NatsServerDouble();
	const connection = await connect({ servers: await server.listen() });
	try {
		keepOutput(connection);
		const memories = new Set<ArrayBufferLike>();
		const { transport } = (connection as unknown as Inside).protocol;
		const send = vi.spyOn(transport, "send");
		for (let n = 0; n < 10; n++) {
			connection.publish("subject", "a".repeat(1_000));
			await connection.flush();
		}
		for (const [bytes] of send.mock.calls)
			if (bytes.length > 1_000) memories.add(bytes.buffer);
		expect(memories.size).toBe(1);
	} finally {
		await connection.close();
		server.close();
	}
});

test("what waits for a reconnect is joined though there is no socket, and its memory isn't kept if it is large", async () => {
	const server = new NatsServerDouble();
	const connection = await connect({ servers: await server.listen() });
	try {
		keepOutput(connection);
		const { transport, outbound } = (connection as unknown as Inside).protocol;
		const { socket } = transport;
		const join = (bytes: number) => {
			outbound.fill(new Uint8Array(bytes), new Uint8Array(1));
			outbound.pack();
			return outbound.drain();
		};
		transport.socket = undefined;
		expect(join(9)).toHaveLength(10);
		transport.socket = socket;
		const first = join(64 * 2 ** 20);
		expect(join(64 * 2 ** 20).buffer).not.toBe(first.buffer);
	} finally {
		await connection.close();
		server.close();
	}
});

interface Inside {
	protocol: {
		transport: { send(bytes: Uint8Array): void; socket: unknown };
		outbound: {
			fill(...buffers: Uint8Array[]): void;
			pack(): void;
			drain(): Uint8Array;
		};
	};
}
