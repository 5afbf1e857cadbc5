import { expect, test } from "vitest";
import { ObjectKeys } from "../../archive/s3/object-keys.ts";
import type {
	ListedObject,
	ObjectStore,
} from "../../archive/s3/object-store.ts";
import { ReleaseStore } from "./release-store.ts";

const folder = { account: "shop", sourceKey: "k", date: "2026-03-01" };
const keys = new ObjectKeys("tidemill");

function releasesWith(text: string | undefined) {
	const store = {
		keys,
		async *list(): AsyncGenerator<ListedObject> {
			yield { key: keys.release(folder, 1), bytes: 9, modifiedMs: 0 };
		},
		get: async () => text,
	};
	return new ReleaseStore(store as unknown as ObjectStore);
}

test.each([
	["goes between the listing and the reading", undefined, "was deleted"],
	["is of a later archive", '{"version":2}', "has version 2; this archive"],
])("a record that %s is reported as such", async (_, text, message) => {
	await expect(releasesWith(text).ofDate(folder)).rejects.toThrow(message);
});
