import { expect, test } from "vitest";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import { datesFolderOf, folderOf, fromOldest } from "./listing.ts";

test("of each folder, all that is old is listed, and a page of what isn't", async () => {
	const store = new MemoryStore();
	const isOld = (key: string) => key.includes("old");
	const add = (folder: string, old: number, young: number) => {
		for (let n = 0; n < old + young; n++) {
			const number = String(n).padStart(6, "0");
			store.objects.set(`${folder}${number}${n < old ? "old" : ""}`, "");
		}
	};
	add("x/a/", 5, 2_500);
	add("x/a-b/", 2_500, 10);
	add("x/b/", 0, 1_000);
	add("x/c/", 1, 0);
	add("y/a/", 3, 0);
	const found = fromOldest(store, "x/", folderOf, ({ key }) => !isOld(key));
	const keys = await Array.fromAsync(found, ({ key }) => key);
	const counts = Map.groupBy(keys, folderOf);
	expect([...counts].map(([folder, all]) => [folder, all.length])).toEqual([
		["x/a-b/", 2_510],
		["x/a/", 1_005],
		["x/b/", 1_000],
		["x/c/", 1],
	]);
	expect(keys.filter(isOld)).toHaveLength(2_506);
	expect(new Set(keys).size).toBe(keys.length);
});

test("the dates of a source are one folder", () => {
	const source = "p/events/account=a/source=b/";
	for (const key of ["date=2026-03-01/x.parquet", "date=2026-03-01.json"])
		expect(datesFolderOf(source + key)).toBe(source);
});
