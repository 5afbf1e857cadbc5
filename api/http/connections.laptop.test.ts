import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import fastify, { type FastifyInstance } from "fastify";
import { afterEach, expect, test, vi } from "vitest";
import { boundConnections } from "../../packages/service/bounded-connections.ts";
import {
	type ConnectionLimits,
	connectionOptions,
	refuseUnreadable,
	usualLimits,
} from "./connections.ts";

let api: FastifyInstance;
let sockets: Socket[] = [];
/** Answers the request of `/late`. */
let late: (() => void) | undefined;

/** Serves `/` with these limits; the others are too long to pass on a busy machine. */
async function serve(limits: Partial<ConnectionLimits>): Promise<void> {
	const all = {
		...usualLimits,
		headMs: 120_000,
		requestMs: 120_000,
		checkEveryMs: 20,
		...limits,
	};
	api = fastify(connectionOptions(all));
	boundConnections(api.server, {
		most: all.maxConnections,
		refuse: refuseUnreadable,
	});
	api.get("/", () => "served");
	api.get("/large", () => "x".repeat(64 * 1024 * 1024));
	api.get("/late", async () => {
		await new Promise<void>((resolve) => {
			late = resolve;
		});
		return "late";
	});
	api.post("/", () => "served");
	await api.listen({ host: "127.0.0.1", port: 0 });
}

afterEach(async () => {
	for (const socket of sockets) socket.destroy();
	sockets = [];
	await api.close();
});

/** Opens a connection, sends a text and collects what comes back. */
function send(text: string) {
	const { port } = api.server.address() as AddressInfo;
	const socket = connect({ host: "127.0.0.1", port });
	sockets.push(socket);
	const connection = { socket, received: "", closed: once(socket, "close") };
	// A reset is an end, too.
	socket.on("error", () => undefined);
	socket.setEncoding("utf8").on("data", (chunk: string) => {
		connection.received += chunk;
	});
	socket.write(text);
	return connection;
}

const get = (path = "/") => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`;
const eventually = (check: () => unknown) =>
	vi.waitFor(check, { timeout: 120_000 });

test("a body that trickles in is answered 408, and its connection ends", async () => {
	await serve({ headMs: 100, requestMs: 200 });
	const connection = send(
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n",
	);
	const trickle = setInterval(() => connection.socket.write(" "), 10);
	await connection.closed;
	clearInterval(trickle);
	expect(connection.received).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/);
	expect(JSON.parse(connection.received.split("\r\n\r\n")[1]!)).toMatchObject({
		code: "RequestTimeout",
		status: 408,
		details: [],
	});
});

test.each([
	["a head that never ends", "GET / HTTP/1.1\r\nHost: h\r\n"],
	["a connection that sends nothing", ""],
])("%s is answered 408, and the connection ends", async (_, text) => {
	await serve({ headMs: 100 });
	const connection = send(text);
	await connection.closed;
	expect(connection.received).toContain("RequestTimeout");
});

test("a connection that is idle after its answer ends", async () => {
	await serve({ keepAliveMs: 1 });
	const connection = send(get());
	await connection.closed;
	expect(connection.received).toContain("served");
});

test("a client that doesn't read its answer is disconnected", async () => {
	await serve({ silenceMs: 100 });
	const { socket } = send("");
	socket.pause();
	const [serverSide] = (await once(api.server, "connection")) as [Socket];
	socket.write(get("/large"));
	await eventually(() => expect(serverSide.destroyed).toBe(true));
});

test("beyond the limit of connections the longest idle one is closed, and never one with a request in flight", async () => {
	await serve({ maxConnections: 2 });
	const asking = send(get("/late"));
	await eventually(() => expect(late).toBeDefined());
	const idle = send(get());
	await eventually(() => expect(idle.received).toContain("served"));
	const next = send(get());
	await idle.closed;
	await eventually(() => expect(next.received).toContain("served"));
	const last = send(get());
	await next.closed;
	await eventually(() => expect(last.received).toContain("served"));
	late!();
	await eventually(() => expect(asking.received).toContain("late"));
});

test.each([
	["what isn't HTTP", "hello\r\n\r\n", 400, "InvalidRequest"],
	[
		"a head that is too large",
		`GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
		431,
		"HeadersTooLarge",
	],
])("%s is answered with our error", async (_, text, status, code) => {
	await serve({});
	const connection = send(text);
	await connection.closed;
	expect(connection.received).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
	expect(connection.received).toContain(code);
});
