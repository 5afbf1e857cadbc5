import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { networkList } from "../../packages/service/address.ts";
import { callWebhook } from "./checked-request.ts";

const request = {
	headers: { "content-type": "application/json", "content-length": "2" },
	body: "{}",
};
const nowhere = { allowedNetworks: networkList([]), timeoutMs: 5_000 };
const loopback = {
	allowedNetworks: networkList(["127.0.0.0/8", "::1/128"]),
	timeoutMs: 5_000,
};

async function receiver(listener: RequestListener) {
	let requests = 0;
	const server = createServer((incoming, response) => {
		requests++;
		listener(incoming, response);
	});
	await new Promise<void>((resolve) =>
		server.listen(0, "127.0.0.1", () => resolve()),
	);
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	const { port } = server.address() as AddressInfo;
	return { port, url: `http://127.0.0.1:${port}/`, requests: () => requests };
}

test("an answer's status counts, however long its body is", async () => {
	const { url } = await receiver((_, response) => {
		response.writeHead(503, { "retry-after": "7" });
		const more = () => {
			while (!response.destroyed && response.write("x".repeat(65_536)));
		};
		response.on("drain", more);
		more();
	});
	expect(await callWebhook(url, request, loopback)).toEqual({
		status: 503,
		retryAfter: "7",
	});
});

test.each([
	"http://127.0.0.1:1/",
	"https://127.0.0.1:1/",
	"https://2130706433:1/",
	"https://0x7f.1:1/",
	"https://[::1]:1/",
	"https://[::ffff:127.0.0.1]:1/",
	"https://169.254.169.254/latest/meta-data",
	"https://localhost:1/",
	"ftp://example.com/",
	"file:///etc/passwd",
	"nonsense",
])("%s is refused before anything is sent", async (url) => {
	const outcome = await callWebhook(url, request, nowhere);
	expect(outcome).toEqual({ error: expect.stringMatching(/URL/) });
});

test("a name is refused if it stands for an internal address, and the receiver never hears of it", async () => {
	const { port, requests } = await receiver((_, response) => response.end());
	const url = `http://localhost:${port}/`;
	expect(await callWebhook(url, request, nowhere)).toHaveProperty("error");
	expect(requests()).toBe(0);
	const both = await callWebhook(url, request, loopback);
	expect(both).toEqual({ status: 200, retryAfter: undefined });
});

test("a redirect isn't followed", async () => {
	const target = await receiver((_, response) => response.end());
	const { url } = await receiver((_, response) =>
		response.writeHead(307, { location: target.url }).end(),
	);
	expect(await callWebhook(url, request, loopback)).toMatchObject({
		status: 307,
	});
	expect(target.requests()).toBe(0);
});

test("a receiver that never answers costs no more than the timeout", async () => {
	const { url } = await receiver(() => undefined);
	const brief = { ...loopback, timeoutMs: 50 };
	expect(await callWebhook(url, request, brief)).toEqual({
		error: "There was no answer within 0.05 s.",
	});
});

test("a receiver that switches protocols ends the call", async () => {
	const server = createSocketServer((socket) => {
		socket.on("error", () => {});
		socket.write(
			"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
		);
	});
	await new Promise<void>((resolve) =>
		server.listen(0, "127.0.0.1", () => resolve()),
	);
	onTestFinished(() => void server.close());
	const { port } = server.address() as AddressInfo;
	const outcome = await callWebhook(
		`http://127.0.0.1:${port}/`,
		request,
		loopback,
	);
	expect(outcome).toEqual({ error: expect.any(String) });
});

test("an error names no address", async () => {
	const { url } = await receiver((incoming) => incoming.socket.destroy());
	expect(await callWebhook(url, request, loopback)).toEqual({
		error: expect.stringMatching(/^The connection failed \(\w+\)\.$/),
	});
});
