import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { loadCluster } from "./cluster.ts";
import { loadKubeConfig } from "./kube-config.ts";

let directory: string;

beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "tidemill-cluster-"));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

afterEach(() => vi.unstubAllEnvs());

test("only the cluster of the current context is read, not its user", async () => {
	const path = await kubeconfig(`
current-context: second
contexts:
- { name: first, context: { cluster: a, user: u } }
- { name: second, context: { cluster: b, user: u } }
clusters:
- { name: a, cluster: { server: https://a.example } }
- name: b
  cluster:
    server: https://b.example:6443
    certificate-authority: pki/ca.crt
    tls-server-name: kubernetes
    proxy-url: http://proxy.example:3128
users:
- { name: u, user: { token: s3cret } }
`);
	expect(loadCluster(path)).toEqual({
		name: "b",
		server: "https://b.example:6443",
		caFile: join(directory, "pki/ca.crt"),
		skipTLSVerify: false,
		tlsServerName: "kubernetes",
		proxyUrl: "http://proxy.example:3128",
	});
});

test("an authority in the kubeconfig wins over an authority file", async () => {
	const path = await kubeconfig(
		clusterAt(
			"{ server: https://a, certificate-authority: ca.crt, certificate-authority-data: Y2E= }",
		),
	);
	const cluster = loadCluster(path);
	expect(cluster.caData).toBe("Y2E=");
	expect(cluster.caFile).toBeUndefined();
});

test("without a kubeconfig the Pod's own cluster is used", () => {
	vi.stubEnv("KUBERNETES_SERVICE_HOST", "fd00::1");
	vi.stubEnv("KUBERNETES_SERVICE_PORT", "6443");
	expect(loadCluster(undefined)).toEqual({
		name: "pod",
		server: "https://[fd00::1]:6443",
		caFile: "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
		skipTLSVerify: false,
	});
	vi.stubEnv("KUBERNETES_SERVICE_HOST", "");
	expect(() => loadCluster(undefined)).toThrow(
		"KUBECONFIG is not set and this is not a Pod.",
	);
});

test.each([
	[
		"an empty file",
		"",
		'no usable current cluster (its current-context is "")',
	],
	[
		"a missing context",
		"current-context: gone",
		'no usable current cluster (its current-context is "gone")',
	],
	["invalid YAML", "users: [{ name: u, token: s3cret }", "can't be read"],
	["no address", clusterAt("{ server: here }"), "no usable current cluster"],
	["tokens in clear text", clusterAt("{ server: http://a }"), "in clear text"],
	[
		"tokens in clear text, even without verification",
		clusterAt("{ server: http://a, insecure-skip-tls-verify: true }"),
		"in clear text",
	],
	["a scheme but https", clusterAt("{ server: ftp://a }"), "in clear text"],
	[
		"a proxy that isn't HTTP",
		clusterAt("{ server: https://a, proxy-url: socks5://p:1080 }"),
		"the proxy-url socks5://p:1080, which is not an HTTP proxy",
	],
])(
	"%s is refused with a reason that holds no credentials",
	async (_, text, message) => {
		const path = await kubeconfig(text);
		const load = () => loadCluster(path);
		expect(load).toThrow(`The kubeconfig ${path}`);
		expect(load).toThrow(message);
		expect(load).not.toThrow("s3cret");
	},
);

test("a missing kubeconfig is refused", () => {
	const path = join(directory, "none");
	expect(() => loadCluster(path)).toThrow(
		`The kubeconfig ${path} can't be read: there is no such file`,
	);
});

test("insecure-skip-tls-verify counts, and is warned of", async () => {
	const path = await kubeconfig(
		clusterAt("{ server: https://a, insecure-skip-tls-verify: true }"),
	);
	const warned = once(process, "warning");
	expect(loadCluster(path).skipTLSVerify).toBe(true);
	const [{ message }] = (await warned) as [Error];
	expect(message).toContain(`${path} sets insecure-skip-tls-verify`);
});

test.each([
	["a token", "HTTP://a", "{ token: s3cret }", "in clear text"],
	[
		"a password",
		"http://a",
		"{ username: u, password: s3cret }",
		"in clear text",
	],
	["a scheme but https", "ftp://a", "{ token: s3cret }", "in clear text"],
	["no credentials", "http://a", "{}", undefined],
])(
	"without TLS a user with %s is refused unless nothing could be read",
	async (_, server, user, fault) => {
		const path = await kubeconfig(`
current-context: other
contexts:
- { name: other, context: { cluster: b, user: u } }
- { name: c, context: { cluster: a, user: u } }
clusters:
- { name: a, cluster: { server: "${server}", proxy-url: http://p, insecure-skip-tls-verify: true } }
- { name: b, cluster: { server: https://b } }
users: [{ name: u, user: ${user} }]
`);
		expect(loadKubeConfig(path).getCurrentCluster()?.name).toBe("b");
		const load = () => loadKubeConfig(path, "c");
		if (fault === undefined) expect(load().getCurrentContext()).toBe("c");
		else expect(load).toThrow(fault);
		expect(load).not.toThrow("s3cret");
	},
);

function clusterAt(cluster: string): string {
	return `
current-context: c
contexts: [{ name: c, context: { cluster: a } }]
clusters: [{ name: a, cluster: ${cluster} }]
`;
}

async function kubeconfig(text: string): Promise<string> {
	const path = join(directory, "kubeconfig");
	await writeFile(path, text);
	return path;
}
