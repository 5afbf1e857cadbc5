import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Downloader } from "./download.ts";
import type { PinnedRelease } from "./pinned.ts";

const digest = "0123456789abcdef".repeat(4);
const release: PinnedRelease = {
	site: "github",
	path: "/v1/nats-server.tar.gz",
	member: "nats-server",
	checksums: "/v1/SHA256SUMS",
	algorithm: "sha256",
	version: "1.0.0",
};

async function publishedDigest(
	text: string,
	algorithm: PinnedRelease["algorithm"] = "sha256",
): Promise<string> {
	const server = createServer((_, response) => response.end(text));
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	const { port } = server.address() as AddressInfo;
	const env = { TIDEMILL_DOWNLOAD_GITHUB: `http://127.0.0.1:${port}` };
	const { signal } = new AbortController();
	return new Downloader(env, signal).publishedDigest({ ...release, algorithm });
}

test.each([
	digest.toUpperCase(),
	`${"0".repeat(64)}  another.tar.gz\n${digest}  nats-server.tar.gz\n`,
	`${digest} *nats-server.tar.gz\n`,
	`${digest}  ./nats-server.tar.gz\n`,
])("a publisher's SHA-256 is found in %j", async (text) => {
	expect(await publishedDigest(text)).toBe(`sha256:${digest}`);
});

test.each([
	`${digest}${digest}\n`,
	`${digest}  nats-server.tar.gz\n${digest}${digest}  nats-server.tar.gz\n`,
	`releases:\n  v1:\n    nats-server.tar.gz:\n      hash: ${digest}${digest}\n`,
])("a publisher's SHA-512 is found in %j", async (text) => {
	expect(await publishedDigest(text, "sha512")).toBe(
		`sha512:${digest}${digest}`,
	);
});

test.each(["nothing of the kind", `${digest}  another.tar.gz`])(
	"%j has no digest of the release",
	async (text) => {
		await expect(publishedDigest(text)).rejects.toThrow(
			"/v1/SHA256SUMS has no sha256 of nats-server.tar.gz",
		);
	},
);
