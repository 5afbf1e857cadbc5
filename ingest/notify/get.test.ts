import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { networkList } from "../../packages/service/address.ts";
import { getText } from "./checked-request.ts";

const loopback = {
	allowedNetworks: networkList(["127.0.0.0/8"]),
	timeoutMs: 5_000,
};

async function answering(listener: RequestListener): Promise<string> {
	const server = createServer(listener);
	await new Promise<void>((resolve) =>
		server.listen(0, "127.0.0.1", () => resolve()),
	);
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}/a?b=c`;
}

test("a short answer is read whole", async () => {
	const url = await answering(({ method, url, headers }, response) =>
		// api.github.com answers nobody who doesn't say who he is.
		response.end(`${method} ${url} ${headers["user-agent"]}`),
	);
	expect(await getText(url, 100, loopback)).toEqual({
		text: "GET /a?b=c tidemill-notify",
	});
});

test("an answer that is too long isn't read to its end", async () => {
	const url = await answering((_, response) => {
		const more = () => {
			while (!response.destroyed && response.write("x".repeat(65_536)));
		};
		response.on("drain", more);
		more();
	});
	expect(await getText(url, 100, loopback)).toEqual({
		error: "The answer is longer than 100 bytes.",
	});
});

test.each([204, 301, 302, 403, 500])(
	"status %d is no answer",
	async (status) => {
		const target = await answering((_, response) => response.end("internal"));
		const url = await answering((_, response) =>
			response.writeHead(status, { location: target }).end(),
		);
		expect(await getText(url, 100, loopback)).toEqual({
			error: `The answer has status ${status}.`,
		});
	},
);

test("an answer that breaks off is none", async () => {
	const url = await answering((_, response) => {
		response.writeHead(200, { "content-length": "10" });
		response.write("12345", () => response.destroy());
	});
	expect(await getText(url, 100, loopback)).toHaveProperty("error");
});

test("an internal address isn't called", async () => {
	const nowhere = { ...loopback, allowedNetworks: networkList([]) };
	for (const url of ["https://127.0.0.1:1/", "https://localhost:1/"])
		expect(await getText(url, 100, nowhere)).toEqual({
			error: expect.stringContaining("not public"),
		});
});
