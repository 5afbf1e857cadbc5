// In make test: ingest/load/load-days.test.ts
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { chosenEnv } from "../../operator/jobs/template.ts";
import {
	eventsOf,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";

test("a proxy that a template names sees who is called by https, and nothing of what goes to a store by http", async () => {
	const fixture = await loadFixture();
	const day = "2026-03-01";
	const manifest = await fixture.manifest({ [day]: [eventsOf(day, 3, "a")] });
	const proxy = await startProxy();
	for (const name of ["http_proxy", "HTTP_PROXY", "HTTPS_PROXY"] as const) {
		const env = Object.fromEntries(
			chosenEnv({ env: [{ name, value: proxy.url }] }).map(
				({ name, value }) => [name, value],
			),
		);
		const { exitCode, log } = await fixture.load(manifest, { env });
		expect(exitCode, log).toBe(0);
		expect([...proxy.hosts]).toEqual([]);
		await promisify(execFile)(
			process.execPath,
			["-e", 'fetch("https://warehouse.invalid").catch(() => {})'],
			{ env },
		);
		expect([...proxy.hosts]).toEqual(["warehouse.invalid:443"]);
		proxy.hosts.clear();
	}
	expect(await fixture.rows("select count(*) from orders")).toEqual([["3"]]);
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
