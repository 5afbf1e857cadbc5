import { expect, test } from "vitest";
import { objectKeys } from "../../../packages/bucket/object-keys.ts";
import type {
	ListedObject,
	Store,
} from "../../../packages/bucket/object-store.ts";
import { AdditionStore } from "./addition-store.ts";

const folder = { account: "shop", sourceKey: "k", date: "2026-03-01" };
const keys = objectKeys("tidemill");

function releasesWith(text: string | undefined) {
	const store = {
		keys,
		async *list(): AsyncGenerator<ListedObject> {
			yield { key: keys.addedRecord(folder, 1), bytes: 9, modifiedMs: 0 };
		},
		get: async () => text,
	};
	return new AdditionStore(store as unknown as Store);
}

test.each([
	["goes between the listing and the reading", undefined, "was deleted"],
	["is of a later archive", '{"version":2}', "has version 2; this archive"],
])("a record that %s is reported as such", async (_, text, message) => {
	await expect(releasesWith(text).ofDate(folder)).rejects.toThrow(message);
});
