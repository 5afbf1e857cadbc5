import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { startScriptedStore } from "../../../test/support/fixtures/data-plane/scripted-store.ts";

/**
 * A store that deletes as S3 does: up to 1,000 keys a request, MalformedXML for more (API reference of DeleteObjects).
 * Returns the deleted keys.
 */
async function startDeletingStore() {
	const deleted: string[] = [];
	const store = await startScriptedStore(async (request, response) => {
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

test("unfinished uploads are aborted, however many there are", async () => {
	const all = Array.from({ length: 25 }, (_, n) => `u${100 + n}`);
	const aborted: string[] = [];
	// Pages go on from a key and an upload (API reference, ListMultipartUploads).
	const store = await startScriptedStore((request, response) => {
		const { searchParams } = new URL(request.url!, "http://store");
		response.setHeader("content-type", "application/xml");
		if (request.method === "DELETE") {
			aborted.push(searchParams.get("uploadId")!);
			response.statusCode = 204;
			response.end();
			return;
		}
		const marker = searchParams.get("upload-id-marker");
		const from = marker === null ? 0 : all.indexOf(marker) + 1;
		const page = all.slice(from, from + 10);
		const isTruncated = from + page.length < all.length;
		const uploads = page.map(
			(id) =>
				`<Upload><Key>events/k</Key><UploadId>${id}</UploadId><Initiated>2026-03-01T00:00:00.000Z</Initiated></Upload>`,
		);
		response.end(
			`<ListMultipartUploadsResult><IsTruncated>${isTruncated}</IsTruncated>${
				isTruncated
					? `<NextKeyMarker>events/k</NextKeyMarker><NextUploadIdMarker>${page.at(-1)}</NextUploadIdMarker>`
					: ""
			}${uploads.join("")}</ListMultipartUploadsResult>`,
		);
	});
	expect(await store.abortUploads("events/", Date.now())).toBe(25);
	expect(aborted).toEqual(all);
});
