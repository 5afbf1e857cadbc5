import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import type { ApiRequest } from "../http/endpoint.ts";
import { sendTestEvent } from "./test-event.ts";

test("an answer that breaks off is the URL's fault", async () => {
	const send = await source((_, response) => {
		response.writeHead(200, { "content-length": "100" });
		response.write("{");
		setImmediate(() => response.destroy());
	});
	await expect(send()).rejects.toMatchObject({ code: "Unavailable" });
});

test("an answer without end is read as far as a real one could be", async () => {
	const send = await source((_, response) => {
		const chunk = "x".repeat(16 * 1024);
		const more = () => {
			while (!response.destroyed && response.write(chunk));
		};
		response.on("drain", more);
		more();
	});
	expect(await send()).toEqual({
		name: "open",
		accepted: false,
		httpStatus: 200,
	});
});

test("an event goes as it was written: numbers, spaces, repeated members and all", async () => {
	const written = '{"2": 9007199254740993, "1":1.10,"a" :1,"a":2}';
	let received: string | undefined;
	const send = await source(async (request, response) => {
		received = await text(request);
		response.end('{"is_success":true,"event_id":"1-2"}');
	}, written);
	expect(await send()).toMatchObject({ accepted: true });
	expect(received).toBe(written);
});

/** A Source whose URL answers like this. */
async function source(
	listener: RequestListener,
	bodyText?: string,
): Promise<() => unknown> {
	const server = createServer(listener).listen(0, "127.0.0.1");
	await new Promise((done) => server.once("listening", done));
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	const { port } = server.address() as AddressInfo;
	const object = {
		metadata: { name: "open", uid: "1" },
		spec: {},
		status: { webhookURL: `http://127.0.0.1:${port}/` },
	};
	const request = {
		params: { name: "open" },
		body: bodyText === undefined ? {} : JSON.parse(bodyText),
		bodyText,
		client: { get: async () => object, patch: async () => object },
		account: "shop",
		whenGone: () => new AbortController().signal,
	} as unknown as ApiRequest;
	return () => sendTestEvent(request, undefined as never);
}
