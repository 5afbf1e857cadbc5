import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { boundConnections } from "./bounded-connections.ts";

let server: Server;
let sockets: Socket[] = [];
let late = 0;
let refused = 0;
/** Answers the request that has arrived as a whole. */
let answer: (() => void) | undefined;

beforeEach(async () => {
	late = 0;
	refused = 0;
	// Turns are taken by the test's hand; Node's own timers go on.
	vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
	server = createServer(
		{
			headersTimeout: 100,
			requestTimeout: 60_000,
			connectionsCheckingInterval: 10,
		},
		(request, response) => {
			request.resume();
			request.on("end", () => {
				answer = () => response.end("answered");
			});
		},
	);
	boundConnections(server, {
		most: 100,
		refuse: (_, socket) => {
			refused++;
			socket.destroy();
		},
	});
	server.on("clientError", () => late++);
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
});

afterEach(async () => {
	vi.useRealTimers();
	for (const socket of sockets) socket.destroy();
	sockets = [];
	server.close();
	await once(server, "close");
});

function send(text: string) {
	const { port } = server.address() as AddressInfo;
	const socket = connect({ host: "127.0.0.1", port });
	sockets.push(socket);
	const connection = { socket, received: "", closed: once(socket, "close") };
	socket.on("error", () => undefined);
	socket.setEncoding("utf8").on("data", (chunk: string) => {
		connection.received += chunk;
	});
	socket.write(text);
	return connection;
}

/** vi.waitFor would advance the timers. */
async function untilLate(count: number): Promise<void> {
	while (late < count) await once(server, "clientError");
}

test("connections that are late together end ten in a turn, and a single one at once", async () => {
	for (let i = 0; i < 25; i++) send("GET / HTTP/1.1\r\n");
	await untilLate(25);
	const ended = [refused];
	for (let turn = 0; turn < 4; turn++) {
		vi.advanceTimersByTime(10);
		ended.push(refused);
	}
	expect(ended).toEqual([1, 11, 21, 25, 25]);
	send("");
	await untilLate(26);
	expect(refused).toBe(26);
});

test("a late connection whose request has arrived before its turn gets the answer, and ends with it", async () => {
	send("");
	await untilLate(1);
	const whole = send("GET / HTTP/1.1\r\n");
	const headOnly = send("POST / HTTP/1.1\r\nContent-Length: 2\r\n");
	await untilLate(3);
	headOnly.socket.write("Host: h\r\n\r\n{");
	await once(server, "request");
	whole.socket.write("Host: h\r\n\r\n");
	await once(server, "request");
	vi.advanceTimersByTime(10);
	await headOnly.closed;
	expect(refused).toBe(2);
	answer!();
	await whole.closed;
	expect(whole.received).toMatch(/connection: close[\s\S]*answered/i);
});
