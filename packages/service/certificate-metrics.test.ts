import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { Registry } from "prom-client";
import { afterEach, expect, test } from "vitest";
import {
	issueAuthority,
	issueCertificate,
} from "../../operator/install/certificate.ts";
import { observeCertificates } from "./certificate-metrics.ts";

const dayMs = 86_400_000;
const closing: (() => void)[] = [];

afterEach(() => {
	for (const close of closing.splice(0)) close();
});

/** A server whose certificate lives for so many days, of an authority that lives for ten. */
async function tlsServer(days: number, greets: boolean) {
	const authority = await issueAuthority("CN=authority", Date.now(), 10);
	let { cert, key } = await issueCertificate(
		{ name: "CN=server", hosts: ["localhost"] },
		authority,
		Date.now(),
		days,
	);
	const server = createServer((socket: Socket) => {
		socket.on("error", () => {});
		if (greets) socket.write('INFO {"tls_required":true}\r\n');
		new TLSSocket(socket, { isServer: true, cert, key }).on("error", () => {});
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	closing.push(() => server.close());
	const { port } = server.address() as AddressInfo;
	return {
		server: { host: "127.0.0.1", port, greets, authorities: authority.cert },
		renew: async (days: number) => {
			({ cert, key } = await issueCertificate(
				{ name: "CN=server", hosts: ["localhost"] },
				authority,
				Date.now(),
				days,
			));
		},
	};
}

async function daysLeft(registry: Registry): Promise<number | undefined> {
	const [, seconds] =
		(await registry.metrics()).match(/^tidemill_certificate.* (\d+)/m) ?? [];
	return seconds === undefined
		? undefined
		: Math.round((Number(seconds) * 1000 - Date.now()) / dayMs);
}

test.each([true, false])(
	"the certificate that a server shows tells when it expires (the server greets first: %s)",
	async (greets) => {
		const { server } = await tlsServer(5, greets);
		const registry = new Registry();
		observeCertificates(registry, [server]);
		expect(await daysLeft(registry)).toBe(5);
	},
);

test("an authority that expires first counts", async () => {
	const { server } = await tlsServer(50, true);
	const registry = new Registry();
	observeCertificates(registry, [server]);
	expect(await daysLeft(registry)).toBe(10);
});

test("a certificate that has expired is told, too", async () => {
	const { server } = await tlsServer(-3, true);
	const registry = new Registry();
	observeCertificates(registry, [server]);
	expect(await daysLeft(registry)).toBe(-3);
});

test("a renewed certificate is noticed, and readings between don't connect", async () => {
	const { server, renew } = await tlsServer(2, true);
	let nowMs = 0;
	const registry = new Registry();
	observeCertificates(registry, [server], () => nowMs);
	expect(await daysLeft(registry)).toBe(2);
	await renew(9);
	expect(await daysLeft(registry)).toBe(2);
	nowMs += 10 * 60_000;
	expect(await daysLeft(registry)).toBe(9);
});

test("a server that can't be reached costs no other metric", async () => {
	const registry = new Registry();
	observeCertificates(registry, [{ host: "127.0.0.1", port: 1, greets: true }]);
	expect(await daysLeft(registry)).toBeUndefined();
});
