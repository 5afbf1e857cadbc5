import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test, vi } from "vitest";
import { S3ObjectStore } from "./s3-object-store.ts";

/**
 * A store that deletes as S3 does: up to 1,000 keys a request, MalformedXML for more (API reference of DeleteObjects).
 * Returns the deleted keys.
 */
async function startDeletingStore() {
	const deleted: string[] = [];
	const server = createServer(async (request, response) => {
		const keys = (await text(request)).matchAll(/<Key>(.*?)<\/Key>/g);
		const named = [...keys].map(([, key]) => key!);
		response.setHeader("content-type", "application/xml");
		if (named.length > 1_000) {
			response.statusCode = 400;
			response.end("<Error><Code>MalformedXML</Code></Error>");
			return;
		}
		deleted.push(...named);
		response.end("<DeleteResult></DeleteResult>");
	});
	await once(server.listen(0, "127.0.0.1"), "listening");
	const { port } = server.address() as AddressInfo;
	vi.stubEnv("AWS_ACCESS_KEY_ID", "id");
	vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
	const store = new S3ObjectStore(
		{
			bucket: "b",
			region: "us-east-1",
			endpoint: `http://127.0.0.1:${port}`,
			forcePathStyle: true,
		},
		new AbortController().signal,
	);
	onTestFinished(() => {
		store.close();
		server.close();
		vi.unstubAllEnvs();
	});
	return { store, deleted };
}

test("any number of objects is removed, each once", async () => {
	const { store, deleted } = await startDeletingStore();
	const keys = Array.from({ length: 2_001 }, (_, n) => `cuts/s/${n}.json`);
	await store.remove(keys);
	expect(deleted).toEqual(keys);
	await store.remove([]);
	expect(deleted).toHaveLength(2_001);
});
