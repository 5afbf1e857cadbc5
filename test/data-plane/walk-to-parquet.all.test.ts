import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { main as receive } from "../../ingest/receive/main.ts";
import { freePort } from "../../local/machine/ports.ts";
import {
	ArchiveFixture,
	eventually,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import { TestRoutes } from "../support/fixtures/data-plane/receiver.ts";
import { sendJSON } from "../support/senders/http-client.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";
import { executedFiles } from "../support/walks/executed-files.ts";
import { expectWalk } from "../support/walks/walk-of.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(async () => {
	// The files after this one run in the same process.
	vi.unstubAllEnvs();
	await servers?.stop();
});

test("CONTRIBUTING.md tells the whole way from a request's body to Parquet", async () => {
	const archive = await ArchiveFixture.open(servers, 0);
	await archive.start();
	const routes = new TestRoutes(archive.connection);
	await routes.markSynced();
	const { path } = await routes.add({ shard: 0 });
	const port = await freePort();
	// In this process: V8 sees what it executes.
	const environment = {
		NATS_URL: servers.nats.urlFor("receive"),
		HEALTH_PORT: "0",
		RECEIVE_PORT: String(port),
		RECEIVE_SHUTDOWN_DELAY_MS: "0",
		LOG_LEVEL: "warn",
	};
	for (const [name, value] of Object.entries(environment))
		vi.stubEnv(name, value);
	const receiver = receive();
	const send = (body: string) =>
		eventually(async () => {
			const url = `http://127.0.0.1:${port}${path}`;
			expect((await sendJSON(url, body)).status).toBe(200);
			await eventually(async () =>
				expect(await archive.bodies()).toContain(body),
			);
		});
	await send('"first"');
	const executed = await executedFiles(() => send('"second"'));
	process.emit("SIGTERM");
	expect(await receiver).toBe(0);
	// Neither process has the operator's code: an earlier file of this process may still ask archive by it.
	const isOfDataPlane = (path: string) => !path.startsWith("operator/");
	expectWalk(/Parquet/, executed.filter(isOfDataPlane));
});
