import { text } from "node:stream/consumers";
import { expect, test, vi } from "vitest";
import { startScriptedStore } from "../../test/support/fixtures/data-plane/scripted-store.ts";

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

/** A store that answers 200 before it knows the outcome (API reference, CompleteMultipartUpload: "200 OK … contains an error"). */
function startLateStore(code: string, settings = {}) {
	return startScriptedStore(async (request, response) => {
		await text(request);
		const isRead = request.method === "GET" || request.method === "DELETE";
		response.setHeader("content-type", "application/xml");
		response.setHeader("etag", '"e"');
		if (isRead) return response.end("another's");
		if (request.url!.includes("uploads"))
			return response.end("<R><UploadId>u</UploadId></R>");
		if (request.url!.includes("partNumber")) return response.end();
		const error = `<Error><Key>k</Key><Code>${code}</Code><Message>no</Message></Error>`;
		const isOfMany = request.url!.includes("delete");
		response.end(isOfMany ? `<DeleteResult>${error}</DeleteResult>` : error);
	}, settings);
}

test("a key that exists is told by the error's code, also within a 200", async () => {
	const store = await startLateStore("PreconditionFailed");
	expect(await store.keepsConditionOfParts("k")).toBe(true);
	expect(await store.putNew("k", "ours", "text/x")).toBe("exists");
	// The SDK sends what is larger.
	const large = Buffer.alloc(2 * 1024 ** 2);
	expect(await store.putNew("k", large, "text/x")).toBe("exists");
});

test("what a store can't do is told by the error's code, also within a 200", async () => {
	const store = await startLateStore("NotImplemented");
	expect(await store.keepsConditionOfParts("k")).toBe(false);
	await expect(store.putNew("k", "ours", "text/x")).rejects.toThrow(
		/NotImplemented: no\. Use a store with conditional writes/,
	);
});

test.each(["QuotaExceeded", "XMinioAdminBucketQuotaExceeded"])(
	"a store without room, %s, is named with what makes some",
	async (code) => {
		const store = await startLateStore(code);
		await expect(store.putNew("k", "ours", "text/x")).rejects.toThrow(
			`${code}: no. The store has no room for more: raise the bucket's quota`,
		);
	},
);

test("of many objects that are deleted, one that is gone is no error, and a refusal is one of the keys", async () => {
	const refused = vi.fn();
	const value = { accessKeyId: "id", secretAccessKey: "secret" };
	const keys = { value, refused };
	const gone = await startLateStore("NoSuchKey", { keys });
	await gone.remove(["k"]);
	expect(refused).not.toHaveBeenCalled();
	const closed = await startLateStore("AccessDenied", { keys });
	await expect(closed.remove(["k"])).rejects.toThrow(/AccessDenied: no\./);
	expect(refused).toHaveBeenCalledOnce();
});

test("an upload whose end names no object has made none", async () => {
	const store = await startScriptedStore(async (request, response) => {
		await text(request);
		response.setHeader("content-type", "application/xml");
		response.setHeader("etag", '"e"');
		if (request.url!.includes("uploads"))
			return response.end("<R><UploadId>u</UploadId></R>");
		response.end(request.method === "POST" ? "<Error></Error>\n" : "");
	});
	await expect(store.keepsConditionOfParts("k")).rejects.toThrow(
		"names no object of k",
	);
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
