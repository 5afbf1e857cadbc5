import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { ownAccess } from "./own-access.ts";

vi.mock("./kube-config.ts", () => ({
	loadKubeConfig: () => {
		throw new Error("the library is loaded");
	},
}));

vi.mock("./token-clients.ts", () => ({
	agentFor: (...[cluster, , pair]: unknown[]) => ({ cluster, pair }),
}));

let directory: string;

beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "tidemill-access-"));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

afterEach(() => vi.unstubAllEnvs());

async function accessWith(user: string, cluster = "") {
	const path = join(directory, "config");
	await writeFile(
		path,
		`current-context: c
contexts: [{ name: c, context: { cluster: a, user: u } }]
clusters: [{ name: a, cluster: { server: "https://a:6443", certificate-authority-data: ${inBase64("cert")}, ${cluster} } }]
users: [{ name: u, user: ${user} }]
`,
	);
	return ownAccess(path);
}

const inBase64 = (text: string) => Buffer.from(text).toString("base64");

const pair = `client-certificate-data: ${inBase64("cert")}, client-key-data: ${inBase64("key")}`;

test("a process with a certificate in its kubeconfig loads no library", async () => {
	const access = await accessWith(`{ ${pair} }`);
	expect(access.server.href).toBe("https://a:6443/");
	const request: RequestOptions = {};
	await access.sign(request);
	expect(request.agent).toMatchObject({
		cluster: { server: "https://a:6443", caData: inBase64("cert") },
		pair: { cert: Buffer.from("cert"), key: Buffer.from("key") },
	});
});

test.each([
	["a token", "{ token: s3cret }"],
	["nobody", "null"],
	["a program", "{ exec: { command: login } }"],
	["files", "{ client-certificate: a.crt, client-key: a.key }"],
	["a certificate for somebody else", `{ ${pair}, as: root }`],
	["a certificate by a proxy", `{ ${pair} }`, "proxy-url: socks5://p"],
])("%s signs in by the library", async (_, user, cluster?: string) => {
	await expect(accessWith(user, cluster)).rejects.toThrow("library");
});

test("a Pod's token is read for each request, as kubelet renews it, and no library is loaded", async () => {
	vi.stubEnv("KUBERNETES_SERVICE_HOST", "10.0.0.1");
	vi.stubEnv("KUBERNETES_SERVICE_PORT", "443");
	const token = join(directory, "token");
	await writeFile(token, "");
	const access = await ownAccess(undefined, token);
	expect(access.server.href).toBe("https://10.0.0.1/");
	for (const text of ["first", "second"]) {
		await writeFile(token, `${text}\n`);
		const request: RequestOptions = { headers: { accept: "text/plain" } };
		await access.sign(request);
		expect(request.headers).toEqual({
			accept: "text/plain",
			authorization: `Bearer ${text}`,
		});
	}
});
