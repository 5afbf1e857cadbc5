import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { ObjectLinks } from "./object-links.ts";
import { newS3Client } from "./s3-client.ts";

function objectLinks(): ObjectLinks {
	const settings = { bucket: "b", region: "r", forcePathStyle: true };
	const credentials = { accessKeyId: "a", secretAccessKey: "s" };
	return new ObjectLinks(newS3Client(settings, { credentials }), settings);
}

test("a link to write a content of a known digest signs the header with it", async () => {
	const links = objectLinks();
	const { url, headers } = await links.put("k", 5, 60, "ab".repeat(32));
	const digest = Buffer.alloc(32, 0xab).toString("base64");
	expect(headers).toEqual({ "x-amz-checksum-sha256": digest });
	expect(new URL(url).searchParams.get("X-Amz-SignedHeaders")).toBe(
		"content-length;host;x-amz-checksum-sha256",
	);
	expect((await links.put("k", 5, 60)).headers).toEqual({});
});

test("links of many objects leave the event loop its turns, whoever asks for them", async () => {
	const links = objectLinks();
	let left = 8;
	const ofDate = async (date: number) => {
		for (let n = 0; n < 20; n++)
			expect(await links.get(`${date}/${n}`, 60)).toContain(`/b/${date}/${n}?`);
		left--;
	};
	for (let date = 0; date < 8; date++) void ofDate(date);
	let turns = 0;
	for (; left > 0; turns++) await setImmediate();
	expect(turns).toBeGreaterThanOrEqual(10);
});
