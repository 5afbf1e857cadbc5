// In make test: test/data-plane/receive.laptop.test.ts
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
	metric,
	type ReceiveFixture,
	startReceiveFixture,
} from "../support/fixtures/data-plane/receiver.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { sendJSON, untilKnown } from "../support/senders/http-client.ts";

let fixture: ReceiveFixture;

beforeAll(async () => {
	// V8 lets an unbounded heap grow for tens of thousands of requests before it collects garbage.
	fixture = await startReceiveFixture({}, { NODE_OPTIONS: boundedHeap });
});

afterAll(() => fixture.stop());

const boundedHeap = "--max-semi-space-size=1 --max-old-space-size=48";
const requests = 4_000;
const atOnce = 50;

test("receive serves on after 8,000 malformed requests, holds nothing of them, and its memory is flat", async () => {
	const { receiver, routes } = fixture;
	const { path } = await routes.add();
	const url = receiver.url + path;
	await untilKnown(url);
	const random = seededRandom();
	const memory = () => metric(receiver, "process_resident_memory_bytes");
	let sent = 0;
	let answeredOk = 0;
	const attack = async (until: number) => {
		const attackers = Array.from({ length: atOnce }, async () => {
			while (sent < until) {
				sent++;
				const answer = await exchange(receiver.url, malformed(path, random));
				if (answer.startsWith("HTTP/1.1 200")) answeredOk++;
			}
		});
		await Promise.all(attackers);
	};
	await attack(requests);
	const before = await memory();
	await attack(2 * requests);
	expect(answeredOk).toBe(0);
	expect((await sendJSON(url, "{}")).status).toBe(200);
	for (const held of ["requests", "bytes"])
		await expect
			.poll(() => metric(receiver, `tidemill_receive_in_flight_${held}`), {
				timeout: 120_000,
			})
			.toBe(0);
	expect((await memory()) - before).toBeLessThan(8 * 1024 * 1024);
});

/** Sends the bytes on a new connection, ends its side, and returns what comes back. */
function exchange(url: string, bytes: Buffer): Promise<string> {
	const { hostname, port } = new URL(url);
	return new Promise((resolve) => {
		const socket = connect({ host: hostname, port: Number(port) });
		let received = "";
		socket.setEncoding("latin1").on("data", (chunk: string) => {
			received += chunk;
		});
		// A reset ends the connection, too.
		socket.on("error", () => {});
		socket.on("close", () => resolve(received));
		socket.end(bytes);
	});
}

/** A request that breaks the rules in one of many ways. */
function malformed(path: string, random: () => number): Buffer {
	const pick = <T>(choices: readonly T[]) =>
		choices[Math.floor(random() * choices.length)]!;
	const noise = (bytes: number) =>
		Buffer.from(Array.from({ length: bytes }, () => random() * 256));
	const host = "Host: h\r\n";
	const json = "Content-Type: application/json\r\n";
	const good = `POST ${path} HTTP/1.1\r\n${host}${json}`;
	const texts = [
		`${good}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
		`${good}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
		`${good}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n`,
		`${good}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}`,
		`${good}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}`,
		`${good}Content-Length: -1\r\n\r\n`,
		`${good}Content-Length: 1e3\r\n\r\n{}`,
		`${good}Content-Length: 99999\r\n\r\n{}`,
		`${good}Content-Length: 2\r\n\r\n{]`,
		`${good}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}`,
		`${good}Bad Header: x\r\n\r\n`,
		`${good}X: \0\r\n\r\n`,
		`${good}X-Long: ${"x".repeat(17_000)}\r\n\r\n`,
		`${good}${"X: x\r\n".repeat(3_000)}\r\n`,
		`POST ${path} HTTP/9.9\r\n${host}\r\n`,
		`POST  ${path}  HTTP/1.1\r\n${host}\r\n`,
		`GARBAGE ${path} HTTP/1.1\r\n${host}\r\n`,
		`POST /${"x".repeat(20_000)} HTTP/1.1\r\n${host}\r\n`,
		`POST ${path} HTTP/1.1\r\n${json}Content-Length: 2\r\n\r\n{}`,
		`CONNECT h:1 HTTP/1.1\r\n${host}\r\n`,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"\r\n".repeat(100),
	];
	const text = Buffer.from(pick(texts), "latin1");
	const manners: (() => Buffer)[] = [
		() => text,
		() => text.subarray(0, Math.floor(random() * text.length)),
		() => noise(1 + Math.floor(random() * 2_000)),
	];
	return pick(manners)();
}
