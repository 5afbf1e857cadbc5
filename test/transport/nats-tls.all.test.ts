// In make test: packages/service/nats/address.test.ts
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TLSSocket } from "node:tls";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { ensurePki, type Pki } from "../../local/servers/pki.ts";
import { createLog } from "../../packages/service/log.ts";
import { readNatsAddress } from "../../packages/service/nats/address.ts";
import { connectNats } from "../../packages/service/nats/connection.ts";
import { Settings } from "../../packages/service/settings.ts";

let directory: string;
let pki: Pki;
beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "tidemill-nats-"));
	pki = await ensurePki(directory);
});
afterAll(() => rm(directory, { recursive: true }));

const log = createLog("test");
log.level = "silent";

/** Speaks as NATS does until the password comes, and records what it gets in the clear and in TLS. */
async function listen(
	info: { tls_required?: boolean; tls_available?: boolean },
	tls?: { cert: string; key: string },
) {
	const received = { clear: "", tls: "", connections: 0 };
	const record = (socket: Socket, kind: "clear" | "tls") =>
		socket
			.on("error", () => undefined)
			.on("data", (bytes) => {
				received[kind] += bytes.toString("latin1");
				if (bytes.includes("PING")) socket.write("PONG\r\n");
			});
	const sockets = new Set<Socket>();
	const server = createServer((socket) => {
		received.connections++;
		sockets.add(socket);
		socket.write(
			`INFO ${JSON.stringify({ server_id: "x", version: "2.11.0", proto: 1, headers: true, max_payload: 1024, ...info })}\r\n`,
		);
		if (tls) record(new TLSSocket(socket, { isServer: true, ...tls }), "tls");
		else record(socket, "clear");
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => {
		for (const socket of sockets) socket.destroy();
		server.close();
	});
	return { port: (server.address() as AddressInfo).port, received };
}

/** Tries to connect until the test ends. */
function connecting(env: Record<string, string>) {
	const abort = new AbortController();
	const connection = connectNats(new Settings(env), "test", log, abort.signal);
	onTestFinished(() => {
		abort.abort();
		connection.then(
			(connected) => connected.close(),
			() => undefined,
		);
	});
	return connection;
}

test.each([
	["offers no TLS", {}],
	["says that it has TLS, and has none", { tls_available: true }],
	["says that it requires TLS, and has none", { tls_required: true }],
])(
	"with tls:// a listener in the clear that %s gets no password",
	async (_, info) => {
		const { port, received } = await listen(info);
		void connecting({ NATS_URL: `tls://u:s3cret@127.0.0.1:${port}` });
		await vi.waitFor(
			// What is sent is at most the beginning of a handshake.
			() =>
				expect(received.connections > 1 || received.clear !== "").toBe(true),
			{ timeout: 60_000 },
		);
		expect(received.clear).not.toContain("s3cret");
		expect(received.clear).not.toContain("CONNECT");
	},
);

test("with tls:// a server whose certificate is of another authority gets no password", async () => {
	const { port, received } = await listen({ tls_required: true }, pki.etcd);
	void connecting({
		NATS_URL: `tls://u:s3cret@127.0.0.1:${port}`,
		NATS_CA_FILE: pki.ca.certFile,
	});
	await vi.waitFor(() => expect(received.connections).toBeGreaterThan(1), {
		timeout: 60_000,
	});
	expect(received.tls).toBe("");
});

test("with tls:// and NATS_CA_FILE the password travels encrypted", async () => {
	const { port, received } = await listen(
		{ tls_required: true },
		pki.apiserver,
	);
	await connecting({
		NATS_URL: `tls://u:s3cret@127.0.0.1:${port}`,
		NATS_CA_FILE: pki.ca.certFile,
	});
	expect(received.tls).toContain("s3cret");
	expect(received.clear).toBe("");
});

test("TLS files that don't work are named", async () => {
	const connect = (files: Record<string, string>) =>
		connectNats(
			new Settings({ NATS_URL: "tls://127.0.0.1:1", ...files }),
			"test",
			log,
			AbortSignal.abort(),
		);
	const text = join(directory, "text");
	await writeFile(text, "text");
	const { certFile, keyFile } = pki.operator;
	await expect(connect({ NATS_CA_FILE: text })).rejects.toThrow(
		`NATS_CA_FILE is "${text}", which holds no certificate`,
	);
	for (const files of [
		{ NATS_CERT_FILE: text, NATS_KEY_FILE: keyFile },
		{ NATS_CERT_FILE: certFile, NATS_KEY_FILE: `${text}-none` },
		{ NATS_CERT_FILE: certFile, NATS_KEY_FILE: pki.admin.keyFile },
	])
		await expect(connect(files)).rejects.toThrow("which don't work");
});

test("a client's certificate without its key keeps the former pair, until the key comes", async () => {
	const [certFile, keyFile] = ["client.crt", "client.key"].map((name) =>
		join(directory, name),
	) as [string, string];
	const write = async (pair: { cert?: string; key?: string }) => {
		if (pair.cert) await writeFile(certFile, pair.cert);
		if (pair.key) await writeFile(keyFile, pair.key);
	};
	await write(pki.operator);
	vi.useFakeTimers({ toFake: ["setInterval", "performance"] });
	onTestFinished(() => void vi.useRealTimers());
	const { tls } = readNatsAddress(
		new Settings({
			NATS_URL: "tls://127.0.0.1:1",
			NATS_CERT_FILE: certFile,
			NATS_KEY_FILE: keyFile,
		}),
		log,
	);
	const pair = () => ({ cert: tls!.cert, key: tls!.key });
	const { cert, key } = pki.operator;
	expect(pair()).toEqual({ cert, key });
	await write({ cert: pki.admin.cert });
	vi.advanceTimersByTime(10_000);
	expect(pair()).toEqual({ cert, key });
	await write({ key: pki.admin.key });
	vi.advanceTimersByTime(10_000);
	expect(pair()).toEqual({ cert: pki.admin.cert, key: pki.admin.key });
});
