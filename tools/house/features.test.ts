import { expect, test } from "vitest";
import { type Feature, filesNaming, withoutComments } from "./features.ts";

const feature: Feature = {
	name: "erase",
	words: ["eras"],
	folders: ["ingest/lake/erasure", "ingest/load/erased.ts"],
	othersWord: ["/eraser.ts"],
	target: 1,
};

test("a file names a feature by its code, its texts and its imports, not by its comments, its tests in its own folders and files, or where the word is another's", () => {
	const files = new Map([
		["ingest/a.ts", "const isErased = true;"],
		["ingest/b.ts", 'const says = "erased";'],
		["packages/c.ts", 'import { a } from "../ingest/lake/erasure/a.ts";'],
		["ingest/d.ts", "// An Erase\nconst a = 1; /* erased */"],
		["ingest/e.test.ts", "const isErased = true;"],
		["ingest/lake/erasure/f.ts", "const isErased = true;"],
		["ingest/load/erased.ts", "const isErased = true;"],
		["ingest/eraser.ts", "const isErased = true;"],
		["operator/g.ts", "const isErased = true;"],
	]);
	expect(filesNaming(feature, files)).toEqual([
		"ingest/a.ts",
		"ingest/b.ts",
		"packages/c.ts",
	]);
});

test("what looks like a comment in a text or a regular expression stays", () => {
	const kept = 'const a = ["//", `/* b */`, /https?:\\/\\//];';
	expect(withoutComments(`${kept} // gone`)).toBe(`${kept} `);
});
