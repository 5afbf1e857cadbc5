// On a laptop nothing proves this: `make test` has no ClickHouse. Postgres' certificates are in postgres-tls.all.test.ts.
import { writeFile } from "node:fs/promises";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { createServer, type Server } from "node:tls";
import {
	afterAll,
	afterEach,
	beforeAll,
	describe,
	expect,
	test,
	vi,
} from "vitest";
import {
	issueAuthority,
	issueCertificate,
} from "../../operator/install/certificate.ts";
import { fileEnv } from "../../packages/warehouses/clickhouse/definition.ts";
import { clickHouseFixture } from "../support/fixtures/data-plane/clickhouse-fixture.ts";
import {
	type ClickHouseServer,
	startClickHouse,
} from "../support/servers/clickhouse/server.ts";
import { hasPython } from "../support/servers/python.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/* The engine behind a certificate of an authority of its own, for one name. */

const isHere = await hasPython();

describe.runIf(isHere)("ClickHouse behind TLS", () => {
	let server: ClickHouseServer;
	let front: Server;
	let port: number;
	const authorities: Record<string, string> = {};
	beforeAll(async () => {
		server = await startClickHouse();
		const directory = await temporaryDirectory("clickhouse-tls");
		const ca = await issueAuthority("CN=ours", Date.now(), 30);
		const others = await issueAuthority("CN=another", Date.now(), 30);
		for (const [name, { cert }] of Object.entries({ own: ca, other: others })) {
			authorities[name] = join(directory, `${name}.crt`);
			await writeFile(authorities[name], cert);
		}
		const pair = await issueCertificate(
			{ name: "CN=clickhouse", hosts: ["localhost"] },
			ca,
			Date.now(),
			7,
		);
		const { hostname: host, port: plain } = new URL(server.url);
		front = createServer(pair, (client) => {
			const upstream = connect(Number(plain), host);
			client.pipe(upstream).pipe(client);
			for (const socket of [client, upstream])
				socket.on("error", () =>
					[client, upstream].map((each) => each.destroy()),
				);
		});
		await new Promise<void>((done) => front.listen(0, "127.0.0.1", done));
		({ port } = front.address() as AddressInfo);
	});
	afterAll(async () => {
		front?.close();
		await server?.stop();
	});
	afterEach(() => void vi.unstubAllEnvs());

	test.each([
		["localhost", "own", true],
		["127.0.0.1", "own", false],
		["localhost", "other", false],
		["localhost", "public", false],
	])("the name %s with the %s authorities", async (host, of, isTrusted) => {
		const { check } = await clickHouseFixture(server);
		if (authorities[of]) vi.stubEnv(fileEnv.authorities, authorities[of]);
		const checked = check({ url: `https://${host}:${port}` });
		if (isTrusted)
			expect(await checked).toMatch(/The certificate of .* ends on/);
		else
			await expect(checked).rejects.toMatchObject({
				code: "CertificateRefused",
			});
	});
});
