import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ListObjectsV2Command } from "@aws-sdk/client-s3";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { ensurePki, type Pki } from "../../local/servers/pki.ts";
import { newS3Client } from "../../packages/bucket/s3-client.ts";

let pki: Pki;
beforeAll(async () => {
	const directory = await mkdtemp(join(tmpdir(), "tidemill-s3-client-"));
	pki = await ensurePki(directory);
	await rm(directory, { recursive: true });
});

test.each([301, 302, 307, 308])(
	"a store's redirect (%i) to another address is not followed",
	async (status) => {
		vi.stubEnv("AWS_ACCESS_KEY_ID", "id");
		vi.stubEnv("AWS_SECRET_ACCESS_KEY", "s3cret");
		onTestFinished(() => void vi.unstubAllEnvs());
		const seen: string[] = [];
		const clear = await listen(
			createServer((request, response) => {
				seen.push(request.url!);
				response.end();
			}),
		);
		const redirect: RequestListener = (_, response) =>
			response
				.writeHead(status, { location: `http://127.0.0.1:${clear}/` })
				.end();
		const port = await listen(createTlsServer(pki.apiserver, redirect));
		const client = newS3Client({
			bucket: "b",
			region: "r",
			endpoint: `https://127.0.0.1:${port}`,
			forcePathStyle: true,
			authorities: pki.ca.cert,
		});
		onTestFinished(() => client.destroy());
		await expect(
			client.send(new ListObjectsV2Command({ Bucket: "b" })),
		).rejects.toMatchObject({ $metadata: { httpStatusCode: status } });
		expect(seen).toEqual([]);
	},
);

async function listen(server: Server): Promise<number> {
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => void server.close());
	return (server.address() as AddressInfo).port;
}
