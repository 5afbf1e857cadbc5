import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
	type Route,
	routeKey,
	syncedKey,
} from "../../packages/contracts/route.ts";
import { routeWith } from "../../test/support/examples/route-example.ts";
import {
	type BehaviourName,
	behaviours,
} from "../../test/support/strangers/flood.ts";
import { besiege, mostUnderSiege } from "../../test/support/strangers/siege.ts";
import { MemoryBudget } from "./admission/budget.ts";
import { RequestLimits } from "./admission/limits.ts";
import type { PendingEvent } from "./commit/committer.ts";
import {
	type ConnectionDeadlines,
	HttpServer,
	usualBounds,
} from "./http-server.ts";
import { ReceiveMetrics } from "./metrics.ts";
import { RouteTable } from "./request/route-table.ts";

/** Sockets are slow on a busy machine. */
const eventually = (check: () => unknown) =>
	vi.waitFor(check, { timeout: 120_000 });

const key = "0123456789abcdef".repeat(2);
/** One source may hold a third of each. */
const maxRequests = 9;
const maxBytes = 2_000;
let budget: MemoryBudget;
let limits: RequestLimits;
let pending: PendingEvent[];
let routes: RouteTable;
let server: HttpServer;
let port: number;
let sockets: Socket[];
let registry: Registry;

beforeEach(async () => {
	budget = new MemoryBudget(maxRequests, maxBytes);
	limits = new RequestLimits(budget);
	pending = [];
	sockets = [];
	routes = new RouteTable();
	putRoute(1_048_576);
	routes.set(syncedKey, "");
	await listen({});
});

/** @param deadlines the ones under test; the others are too long to pass on a busy machine. */
async function listen(
	deadlines: Partial<ConnectionDeadlines>,
	bounds = usualBounds,
): Promise<void> {
	registry = new Registry();
	server = new HttpServer(
		{
			routes,
			shards: [{ add: (event) => pending.push(event), hasRoomFor: () => true }],
			limits,
			metrics: new ReceiveMetrics(registry, budget, routes),
			plans: { validate: () => undefined },
		},
		bounds,
		{ headMs: 60_000, requestMs: 60_000, checkEveryMs: 50, ...deadlines },
	);
	port = await server.listen(0, "127.0.0.1");
}

afterEach(async () => {
	for (const socket of sockets) socket.destroy();
	await server.close();
});

/** Sets the only route, with this limit. */
function putRoute(maxBodyBytes: number, change: Partial<Route> = {}): void {
	const route = routeWith(key, key, { maxBodyBytes, ...change });
	routes.set(routeKey(key), JSON.stringify(route));
}

/** Opens a connection for one request and collects what comes back. */
function write(
	text: string,
	allowHalfOpen = false,
): { socket: Socket; received: string } {
	const socket = connect({ port, host: "127.0.0.1", allowHalfOpen });
	sockets.push(socket);
	const connection = { socket, received: "" };
	socket.setEncoding("latin1").on("data", (chunk: string) => {
		connection.received += chunk;
	});
	socket.write(text);
	return connection;
}

function post(body: string, length = body.length): ReturnType<typeof write> {
	return write(
		`POST /hooks/${key}/${key} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`,
	);
}

const answer = (connection: { received: string }, text: string) =>
	eventually(() => expect(connection.received).toContain(text));

test("a target in absolute form and one with a slash at its end are this URL; other paths are not", async () => {
	const path = `/hooks/${key}/${key}`;
	for (const [target, status] of [
		[`http://proxied.example${path}`, 200],
		[`https://proxied.example${path}/?a=b`, 200],
		[`${path}/`, 200],
		[`${path}//`, 404],
		[`/${path}`, 404],
	] as const)
		for (const version of ["1.1", "1.0"]) {
			pending = [];
			const connection = write(
				`POST ${target} HTTP/${version}\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
			);
			if (status === 200) {
				await eventually(() => expect(pending).toHaveLength(1));
				pending[0]!.answerStored();
			}
			await eventually(() =>
				expect(connection.received).toContain(`HTTP/1.1 ${status}`),
			);
		}
});

test("an event is answered when it is stored, and its bytes are held until they are released", async () => {
	const connection = post("[1]");
	await eventually(() => expect(pending).toHaveLength(1));
	expect(connection.received).toBe("");
	expect(budget).toMatchObject({ requests: 1, bytes: 3 });
	pending[0]!.answerStored();
	await answer(connection, "200 OK");
	expect(budget).toMatchObject({ requests: 0, bytes: 3 });
	pending[0]!.settle("stored");
	expect(budget.bytes).toBe(0);
});

test("above the limit of requests in flight the next is answered 503, until one is done", async () => {
	for (let i = 0; i < 3; i++) post("1");
	await eventually(() => expect(pending).toHaveLength(3));
	const refused = post("1");
	await answer(refused, "503 Service Unavailable");
	expect(refused.received).toMatch(/\r\nretry-after: \d+\r\n/);
	expect(refused.received).toContain("Overloaded");

	pending[0]!.answerUnavailable();
	post("1");
	await eventually(() => expect(pending).toHaveLength(4));
});

test("above the limit of bytes in flight the next is answered 503, and its own bytes are freed", async () => {
	post(`"${"x".repeat(600)}"`);
	await eventually(() => expect(pending).toHaveLength(1));
	const refused = post(`"${"x".repeat(600)}"`);
	await answer(refused, "Overloaded");
	expect(budget).toMatchObject({ requests: 1, bytes: 602 });
});

test("a sender that disconnects inside its body leaves nothing behind", async () => {
	const { socket } = post("[1", 100);
	await eventually(() => expect(budget.bytes).toBe(2));
	socket.resetAndDestroy();
	await eventually(() =>
		expect(budget).toMatchObject({ requests: 0, bytes: 0 }),
	);
	expect(pending).toEqual([]);
});

test("a sender that continues with nonsense and never closes is disconnected", async () => {
	const { socket } = write(
		`POST /hooks/${key}/${key} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[1\r\n`,
		true,
	);
	await eventually(() => expect(budget.bytes).toBe(2));
	socket.write("nonsense\r\n");
	await eventually(() =>
		expect(budget).toMatchObject({ requests: 0, bytes: 0 }),
	);
});

test("an event is stored even if its sender doesn't wait for the answer", async () => {
	const { socket } = post("1");
	await eventually(() => expect(pending).toHaveLength(1));
	socket.resetAndDestroy();
	await once(socket, "close");
	// By then the server has seen the reset.
	await answer(write("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), "404 Not Found");
	pending[0]!.answerStored();
	pending[0]!.settle("stored");
	expect(budget).toMatchObject({ requests: 0, bytes: 0 });
	const counted = async (name: string) =>
		(await registry.getSingleMetric(name)!.get()).values;
	expect(
		await counted("tidemill_receive_undelivered_replies_total"),
	).toMatchObject([{ value: 1 }]);
	expect(await counted("tidemill_receive_requests_total")).toMatchObject([
		{ labels: { account: "shop", source: "orders", code: "OK" }, value: 1 },
		{ labels: { account: "", source: "", code: "UnknownURL" }, value: 1 },
	]);
	const next = post("2");
	await eventually(() => expect(pending).toHaveLength(2));
	pending[1]!.answerStored();
	await answer(next, "200 OK");
});

test("pipelined requests on one connection are answered in order", async () => {
	const one = `POST /hooks/${key}/${key} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n`;
	const connection = write(`${one}1${one}x`);
	await eventually(() => expect(pending).toHaveLength(1));
	pending[0]!.answerStored();
	await answer(connection, "InvalidJSON");
	expect(connection.received).toMatch(/^HTTP\/1.1 200 OK.*HTTP\/1.1 400 /s);
});

test("a head that doesn't end in time is answered 408", async () => {
	await server.close();
	await listen({ headMs: 300 });
	const connection = write("POST / HTTP/1.1\r\nHost: h\r\n");
	await answer(connection, "RequestTimeout");
	expect(connection.received).toMatch(/^HTTP\/1.1 408 /);
});

test("a body that arrives byte by byte is answered 408 in time, and its bytes are freed", async () => {
	await server.close();
	await listen({ headMs: 500, requestMs: 800 });
	const connection = post("[", 1_000);
	const dripping = setInterval(() => connection.socket.write(" "), 20);
	connection.socket.on("error", () => clearInterval(dripping));
	await eventually(() => expect(budget.bytes).toBeGreaterThan(1));
	await answer(connection, "RequestTimeout");
	clearInterval(dripping);
	await eventually(() =>
		expect(budget).toMatchObject({ requests: 0, bytes: 0 }),
	);
	expect(pending).toEqual([]);
});

test("a body that stops arriving is answered 408, and its bytes are freed for others", async () => {
	const connection = post("[", 1_000);
	await eventually(() => expect(budget.bytes).toBe(1));
	limits.tick(10_000);
	limits.tick(15_000);
	await answer(connection, "RequestTimeout");
	expect(connection.received).toMatch(
		/^HTTP\/1.1 408 .*\r\nconnection: close\r\n/is,
	);
	expect(budget).toMatchObject({ requests: 0, bytes: 0 });
	await eventually(() => expect(connection.socket.closed).toBe(true));
});

test("a late answer doesn't make a request slow", async () => {
	await server.close();
	await listen({ headMs: 500, requestMs: 500 });
	const connection = post("1");
	await eventually(() => expect(pending).toHaveLength(1));
	const slow = write("POST / HTTP/1.1\r\n");
	await answer(slow, "RequestTimeout");
	pending[0]!.answerStored();
	await answer(connection, "200 OK");
});

/** Sends a gzip body. */
function postCompressed(text: string): ReturnType<typeof write> {
	const bytes = gzipSync(text);
	const connection = write(
		`POST /hooks/${key}/${key} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${bytes.length}\r\n\r\n`,
	);
	connection.socket.write(bytes);
	return connection;
}

test("a compressed body is decompressed within the limit of bytes in flight", async () => {
	await answer(postCompressed(`"${"x".repeat(700)}"`), "Overloaded");
	expect(budget).toMatchObject({ requests: 0, bytes: 0 });

	putRoute(500);
	postCompressed("[1]");
	await eventually(() => expect(pending).toHaveLength(1));
	expect(budget.bytes).toBe(3);
	await answer(postCompressed(`"${"x".repeat(600)}"`), "BodyTooLarge");
	expect(budget).toMatchObject({ requests: 1, bytes: 3 });
});

test("many small compressed bodies at once take only the memory that they decompress to", async () => {
	await server.close();
	budget = new MemoryBudget(1_000, 20_000);
	limits = new RequestLimits(budget);
	await listen({});
	for (let n = 0; n < 100; n++) postCompressed("[1]");
	await eventually(() => expect(pending).toHaveLength(100));
	expect(budget).toMatchObject({ requests: 100, bytes: 300 });
});

test("a request must name its host in HTTP/1.1, but not in HTTP/1.0", async () => {
	const head = `Content-Type: application/json\r\nContent-Length: 1\r\n\r\n1`;
	const nowhere = write(`POST /hooks/${key}/${key} HTTP/1.1\r\n${head}`);
	await answer(nowhere, "BadRequest");
	const old = write(`POST /hooks/${key}/${key} HTTP/1.0\r\n${head}`);
	await eventually(() => expect(pending).toHaveLength(1));
	pending[0]!.answerStored();
	await answer(old, "200 OK");
	await eventually(() => expect(old.socket.closed).toBe(true));
});

test("an offer of HTTP/2 and unknown expectations are ignored", async () => {
	for (const header of [
		"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk",
		"Expect: a-miracle",
	]) {
		const { length } = pending;
		const connection = write(
			`POST /hooks/${key}/${key} HTTP/1.1\r\nHost: h\r\n${header}\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n1`,
		);
		await eventually(() => expect(pending).toHaveLength(length + 1));
		pending[length]!.answerStored();
		await answer(connection, "200 OK");
	}
});

const fromShop = (method: string, urlKey: string, rest = "") =>
	write(
		`${method} /hooks/${key}/${urlKey} HTTP/1.1\r\nHost: h\r\nOrigin: https://shop.example\r\n${rest}\r\n`,
	);
const asks = "Access-Control-Request-Method: POST\r\n";
const allowed = "access-control-allow-origin: https://shop.example\r\n";

test("a page of an allowed origin may ask, send, and read the answer and the refusal", async () => {
	putRoute(1, { cors: { allowedOrigins: ["https://shop.example"] } });
	const asking = fromShop("OPTIONS", key, asks);
	await answer(asking, "200 OK");
	expect(asking.received).toContain(allowed);
	expect(asking.received).toContain("access-control-allow-methods: POST\r\n");
	const sending = fromShop("POST", key, "Content-Length: 1\r\n\r\n1");
	await eventually(() => expect(pending).toHaveLength(1));
	pending[0]!.answerStored();
	await answer(sending, "200 OK");
	expect(sending.received).toContain(allowed);
	const refused = fromShop("POST", key, "Content-Length: 2\r\n\r\n12");
	await answer(refused, "BodyTooLarge");
	expect(refused.received).toContain(allowed);
});

test("a Source that allows no origin, and an unknown URL, answer a page as any other program", async () => {
	const refused = fromShop("OPTIONS", key, asks);
	await answer(refused, "405 Method Not Allowed");
	putRoute(1, { cors: { allowedOrigins: ["*"] } });
	const unknown = fromShop("OPTIONS", "0".repeat(32), asks);
	await answer(unknown, "404 Not Found");
	for (const { received } of [refused, unknown])
		expect(received).not.toContain("access-control");
});

test.each(Object.keys(behaviours) as BehaviourName[])(
	"strangers with more connections than receive may have, each with %s, cost no Source an event",
	async (behaviour) => {
		await server.close();
		await listen({}, { ...usualBounds, most: mostUnderSiege });
		const storing = setInterval(() => {
			for (const event of pending.splice(0)) {
				event.answerStored();
				event.settle("stored");
			}
		}, 1);
		try {
			await besiege(port, behaviour, {
				options: {
					method: "POST",
					path: `/hooks/${key}/${key}`,
					headers: { "content-type": "application/json", "content-length": 2 },
				},
				body: "{}",
				isSlow: true,
			});
		} finally {
			clearInterval(storing);
		}
	},
);
