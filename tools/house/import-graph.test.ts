import { expect, test } from "vitest";
import { affectedFiles } from "./import-graph.ts";

const texts = new Map([
	["a/main.ts", 'import { run } from "./run.ts";'],
	["a/run.ts", 'export * from "../b/kept.ts"; import data from "./data.json";'],
	["b/kept.ts", "export const kept = 1;"],
	["b/lazy.ts", 'const { run } = await import("../a/run.ts");'],
	["c/alone.ts", ""],
]);
const files: Record<string, string> = {
	...Object.fromEntries([...texts.keys()].map((path) => [path, "1"])),
	"a/data.json": "1",
	"biome.json": "1",
};
const affected = (now: Record<string, string>, before = files) =>
	affectedFiles({ before, now, rules: ["biome.json"], texts });

test("nothing is affected where nothing has changed, and everything where nothing is known", () => {
	expect(affected({ ...files })).toEqual([]);
	expect(
		affectedFiles({ before: undefined, now: files, rules: [], texts }),
	).toEqual(Object.keys(files).sort());
});

test("a change affects the file and whatever imports it, through others and when it is needed, too", () => {
	expect(affected({ ...files, "c/alone.ts": "2" })).toEqual(["c/alone.ts"]);
	const importers = ["a/main.ts", "a/run.ts"];
	expect(affected({ ...files, "b/kept.ts": "2" })).toEqual([
		...importers,
		"b/kept.ts",
		"b/lazy.ts",
	]);
	expect(affected({ ...files, "a/data.json": "2" })).toEqual([
		"a/data.json",
		...importers,
		"b/lazy.ts",
	]);
});

test("a file that is new is affected, and so is what imports one that is gone", () => {
	expect(affected({ ...files, "d/new.ts": "1" })).toEqual(["d/new.ts"]);
	const { "b/kept.ts": _, ...without } = files;
	expect(affected(without)).toEqual(["a/main.ts", "a/run.ts", "b/lazy.ts"]);
});

test("a change of the rules affects everything, and so do rules that are new or gone", () => {
	const all = Object.keys(files).sort();
	expect(affected({ ...files, "biome.json": "2" })).toEqual(all);
	const { "biome.json": _, ...without } = files;
	expect(affected(without)).toEqual(Object.keys(without).sort());
	expect(affected(files, without)).toEqual(all);
});
