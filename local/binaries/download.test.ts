import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Downloader } from "./download.ts";
import type { PinnedRelease } from "./pinned.ts";

const digest = "0123456789abcdef".repeat(4);
const release: PinnedRelease = {
	site: "github",
	path: "/v1/nats-server.tar.gz",
	checksums: "/v1/SHA256SUMS",
};

async function publishedDigest(text: string): Promise<string> {
	const server = createServer((_, response) => response.end(text));
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	const { port } = server.address() as AddressInfo;
	const env = { TIDEMILL_DOWNLOAD_GITHUB: `http://127.0.0.1:${port}` };
	const { signal } = new AbortController();
	return new Downloader(env, signal).publishedDigest(release);
}

test.each([
	digest.toUpperCase(),
	`${"0".repeat(64)}  another.tar.gz\n${digest}  nats-server.tar.gz\n`,
	`${digest} *nats-server.tar.gz\n`,
	`${digest}  ./nats-server.tar.gz\n`,
])("a publisher's SHA-256 is found in %j", async (text) => {
	expect(await publishedDigest(text)).toBe(digest);
});

test.each(["nothing of the kind", `${digest}  another.tar.gz`])(
	"%j has no SHA-256 of the release",
	async (text) => {
		await expect(publishedDigest(text)).rejects.toThrow(
			"/v1/SHA256SUMS has no SHA-256 of nats-server.tar.gz",
		);
	},
);
