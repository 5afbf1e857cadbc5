// In make test: test/data-plane/receive.laptop.test.ts
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
	type ReceiveFixture,
	startReceiveFixture,
} from "../support/fixtures/data-plane/receiver.ts";
import { untilKnown } from "../support/senders/http-client.ts";

let fixture: ReceiveFixture;

beforeAll(async () => {
	fixture = await startReceiveFixture();
});

afterAll(() => fixture.stop());

async function newPath(
	change: Parameters<ReceiveFixture["routes"]["add"]>[0] = {},
): Promise<string> {
	const { path } = await fixture.routes.add(change);
	await untilKnown(fixture.receiver.url + path);
	return path;
}

/** Writes to a new connection and returns what arrives until the server closes it. */
async function untilClosed(
	write: (socket: ReturnType<typeof connect>) => void,
): Promise<string> {
	const { hostname, port } = new URL(fixture.receiver.url);
	const socket = connect({ host: hostname, port: Number(port) });
	let received = "";
	socket.setEncoding("latin1").on("data", (chunk) => {
		received += chunk;
	});
	// A reset ends the connection, too.
	socket.on("error", () => {});
	const closed = new Promise((resolve) => socket.once("close", resolve));
	write(socket);
	await closed;
	return received;
}

test("a chunked body that grows too large is refused while it arrives, and the connection ends", async () => {
	const path = await newPath({ maxBodyBytes: 1_000 });
	const received = await untilClosed((socket) => {
		socket.write(
			`POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
		);
		const chunk = `1000\r\n${" ".repeat(0x1000)}\r\n`;
		// The sender writes until it has read the answer.
		let writing: NodeJS.Immediate;
		const writeOn = () => {
			socket.write(chunk);
			writing = setImmediate(writeOn);
		};
		writeOn();
		socket.once("data", () => {
			clearImmediate(writing);
			socket.end();
		});
	});
	expect(received).toMatch(/^HTTP\/1.1 413 /);
	expect(received).toMatch(/\r\nconnection: close\r\n/i);
	expect(received).toContain("BodyTooLarge");
});

test("a sender with Expect: 100-continue is refused before it sends its body", async () => {
	const path = await newPath();
	const head = (length: number) =>
		`POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n`;
	const refused = await untilClosed((socket) => socket.write(head(1_048_577)));
	expect(refused).toMatch(/^HTTP\/1.1 413 /);

	const accepted = await untilClosed((socket) => {
		socket.write(head(2));
		socket.once("data", () => socket.write("{}"));
	});
	expect(accepted).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK/);
});

test("invalid HTTP and endless headers get the same form of error", async () => {
	const nonsense = await untilClosed((socket) => socket.write("hello\r\n\r\n"));
	expect(nonsense).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
	expect(JSON.parse(nonsense.split("\r\n\r\n")[1]!)).toMatchObject({
		error: { code: "BadRequest" },
	});
	const endless = await untilClosed((socket) =>
		socket.write(`POST / HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`),
	);
	expect(endless).toMatch(/^HTTP\/1.1 431 /);
	expect(endless).toContain("HeadersTooLarge");
});
