import { expect, test } from "vitest";
import { ObjectLinks } from "./object-links.ts";
import { newS3Client } from "./s3-client.ts";

test("a link to write a content of a known digest signs the header with it", async () => {
	const settings = { bucket: "b", region: "r", forcePathStyle: true };
	const credentials = { accessKeyId: "a", secretAccessKey: "s" };
	const client = newS3Client(settings, { credentials });
	const links = new ObjectLinks(client, settings);
	const { url, headers } = await links.put("k", 5, 60, "ab".repeat(32));
	const digest = Buffer.alloc(32, 0xab).toString("base64");
	expect(headers).toEqual({ "x-amz-checksum-sha256": digest });
	expect(new URL(url).searchParams.get("X-Amz-SignedHeaders")).toBe(
		"content-length;host;x-amz-checksum-sha256",
	);
	expect((await links.put("k", 5, 60)).headers).toEqual({});
});
