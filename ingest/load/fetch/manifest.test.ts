import { expect, test } from "vitest";
import { parseManifest } from "./manifest.ts";

const manifest = {
	version: 1,
	run: "uid",
	dates: [
		{ date: "2026-03-01", rows: 3, objects: [{ rows: 1 }, { rows: 2 }] },
		{ date: "2026-03-02", rows: 0, objects: [] },
	],
};

test("a consistent manifest of this Run is accepted", () => {
	expect(parseManifest(JSON.stringify(manifest), "uid").dates).toHaveLength(2);
});

test.each([
	["<html>", "not JSON"],
	[JSON.stringify({ ...manifest, version: 2 }), "version 2"],
	[JSON.stringify({ ...manifest, run: "other" }), "Run uid other, not to uid"],
	[
		JSON.stringify({
			...manifest,
			dates: [{ date: "2026-03-01", rows: 4, objects: [{ rows: 3 }] }],
		}),
		"The objects of 2026-03-01 hold 3 rows, but the ledger says 4",
	],
])("%s is refused", (text, words) => {
	expect(() => parseManifest(text, "uid")).toThrow(words);
});
