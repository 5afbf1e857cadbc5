import { once } from "node:events";
import { createServer, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { chosenEnv } from "../../operator/jobs/template.ts";
import {
	eventsOf,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";

test("a load whose Pipeline names a proxy reaches the bucket through it alone", async () => {
	const fixture = await loadFixture();
	const day = "2026-03-01";
	const manifest = await fixture.manifest({ [day]: [eventsOf(day, 3, "a")] });
	const proxy = await startProxy();
	const env = Object.fromEntries(
		chosenEnv({ env: [{ name: "http_proxy", value: proxy.url }] }).map(
			({ name, value }) => [name, value],
		),
	);
	const { exitCode, log } = await fixture.load(manifest, { env });
	expect(exitCode, log).toBe(0);
	expect(await fixture.rows("select count(*) from orders")).toEqual([["3"]]);
	const store = new URL(manifest.dates[0]!.objects[0]!.url).host;
	expect([...proxy.hosts]).toEqual([store]);

	proxy.hosts.clear();
	const direct = { ...env, NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1" };
	expect((await fixture.load(manifest, { env: direct })).exitCode).toBe(0);
	expect(proxy.hosts.size).toBe(0);
});

/** A proxy that notes whom it was asked for, by a tunnel (RFC 9110 §9.3.6) or by an absolute URL (RFC 9112 §3.2.2). */
async function startProxy() {
	const hosts = new Set<string>();
	const server = createServer((asked, answer) => {
		const url = new URL(asked.url!);
		hosts.add(url.host);
		const { method, headers } = asked;
		asked.pipe(
			request(url, { method, headers }, (found) => {
				answer.writeHead(found.statusCode!, found.headers);
				found.pipe(answer);
			}),
		);
	});
	server.on("connect", ({ url }, client) => {
		hosts.add(url!);
		const { hostname, port } = new URL(`http://${url}`);
		const target = connect(Number(port), hostname, () => {
			client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
			client.pipe(target).pipe(client);
		});
		for (const socket of [client, target])
			socket.on("error", () => {
				client.destroy();
				target.destroy();
			});
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	const { port } = server.address() as AddressInfo;
	return { hosts, url: `http://127.0.0.1:${port}` };
}
