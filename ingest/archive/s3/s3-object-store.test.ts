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
