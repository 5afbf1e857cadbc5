// In make test: local/servers/servers.test.ts
import { X509Certificate } from "node:crypto";
import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ensurePki } from "./pki.ts";

const directory = () => mkdtempSync(join(tmpdir(), "tidemill-pki-"));
const dayMs = 86_400_000;

test("certificates are signed by their authority, and a server's names the loopback", async () => {
	const pki = await ensurePki(directory());
	const ca = new X509Certificate(pki.ca.cert);
	const apiserver = new X509Certificate(pki.apiserver.cert);
	expect(apiserver.verify(ca.publicKey)).toBe(true);
	expect(apiserver.checkIP("127.0.0.1")).toBe("127.0.0.1");
	expect(apiserver.checkHost("localhost")).toBe("localhost");
	expect(new X509Certificate(pki.node.cert).subject).toBe(
		"CN=system:node:tidemill-local\nO=system:nodes",
	);
});

test("a certificate of the cluster gives no access to etcd", async () => {
	const pki = await ensurePki(directory());
	const etcdCA = new X509Certificate(pki.etcdCA.cert);
	expect(new X509Certificate(pki.admin.cert).verify(etcdCA.publicKey)).toBe(
		false,
	);
	expect(
		new X509Certificate(pki.etcdClient.cert).verify(etcdCA.publicKey),
	).toBe(true);
});

test("only the owner can read private keys", async () => {
	const pki = await ensurePki(directory());
	for (const file of [pki.ca.keyFile, pki.serviceAccount.keyFile])
		expect(statSync(file).mode & 0o077).toBe(0);
});

test("a second start keeps all keys", async () => {
	const where = directory();
	expect(await ensurePki(where)).toEqual(await ensurePki(where));
});

test("a certificate that is about to expire is renewed by the same authority", async () => {
	const where = directory();
	const before = await ensurePki(where);
	const after = await ensurePki(where, Date.now() + 320 * dayMs);
	expect(after.ca.cert).toBe(before.ca.cert);
	expect(after.admin.cert).not.toBe(before.admin.cert);
	expect(
		new X509Certificate(after.admin.cert).verify(
			new X509Certificate(after.ca.cert).publicKey,
		),
	).toBe(true);
});
