import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { kinds } from "../kinds.ts";
import { KubeClient } from "./client.ts";
import { Transport } from "./transport.ts";

/** A client of a server that closes the connection where it should answer a second request. */
async function closingServer() {
	const served = new WeakSet<object>();
	const asked: string[] = [];
	const server = createServer((request, response) => {
		asked.push(request.method!);
		if (served.has(request.socket)) return request.socket.destroy();
		served.add(request.socket);
		response.end("{}");
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	const { port } = server.address() as AddressInfo;
	const access = {
		server: new URL(`http://127.0.0.1:${port}`),
		sign: async () => {},
	};
	const client = new KubeClient(new Transport(access));
	await client.raw("GET", "/");
	return { client, asked };
}

const object = { metadata: { name: "a", namespace: "b" } };

test("a read and an apply are sent again if the kept connection was closed", async () => {
	const reading = await closingServer();
	await reading.client.get(kinds.configMap, "a", "b");
	expect(reading.asked).toEqual(["GET", "GET", "GET"]);
	const applying = await closingServer();
	await applying.client.apply(kinds.configMap, object, { fieldManager: "c" });
	expect(applying.asked).toEqual(["GET", "PATCH", "PATCH"]);
});

test("another write is not, as it may have been done", async () => {
	const { client, asked } = await closingServer();
	const created = client.create(kinds.configMap, object);
	await expect(created).rejects.toMatchObject({ staleConnection: true });
	expect(asked).toEqual(["GET", "POST"]);
});
