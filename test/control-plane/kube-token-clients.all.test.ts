// In make test: packages/kube/watch/informer.test.ts
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { loadCluster } from "../../packages/kube/client/cluster.ts";
import { tokenClients } from "../../packages/kube/client/token-clients.ts";
import { passingDirectory } from "../support/faults/passing-directory.ts";

const { caData, ...cluster } = loadCluster(inject("kubeconfig"));
const unauthorized = { name: "KubeApiError", status: 401 };

test("the apiserver learns about the caller from the token alone", async () => {
	const client = tokenClients({ ...cluster, caData: caData! });
	await expect(ask(client("not-a-token"))).rejects.toMatchObject(unauthorized);
});

test("an authority that was renewed is believed with the next connection", async () => {
	const caFile = join(await passingDirectory("authority"), "ca.crt");
	await writeFile(caFile, inject("pki").etcdCA.cert);
	const client = tokenClients({ ...cluster, caFile })("not-a-token");
	await expect(ask(client)).rejects.toThrow("certificate");
	await writeFile(caFile, Buffer.from(caData!, "base64"));
	await expect(ask(client)).rejects.toMatchObject(unauthorized);
});

test("an apiserver behind a proxy is reached through it, over connections that are kept", async () => {
	const asked: string[] = [];
	const proxy = createServer();
	proxy.on("connect", ({ url = "" }, socket) => {
		asked.push(url);
		const [host, port] = url.split(":");
		const onward = connect(Number(port), host, () => {
			socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
			socket.pipe(onward).pipe(socket);
		});
		for (const end of [socket, onward]) end.on("error", () => onward.destroy());
	});
	await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
	onTestFinished(() => void proxy.close());
	const { port } = proxy.address() as AddressInfo;
	const client = tokenClients({
		...cluster,
		caData: caData!,
		proxyUrl: `http://127.0.0.1:${port}`,
	})("not-a-token");
	await expect(ask(client)).rejects.toMatchObject(unauthorized);
	await expect(ask(client)).rejects.toMatchObject(unauthorized);
	expect(asked).toEqual([new URL(cluster.server).host]);
});

function ask(client: KubeClient): Promise<unknown> {
	return client.raw("GET", "/api/v1/namespaces");
}
