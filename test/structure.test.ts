import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { crossings, hasBorder } from "../tools/house/borders.ts";
import {
	type FileImport,
	folderOf,
	importCircle,
	importsIn,
	isTest,
	packageImportsIn,
} from "../tools/house/import-graph.ts";

const root = join(import.meta.dirname, "..");
const files = globSync("**/*.{ts,tsx}", {
	cwd: root,
	exclude: [
		"**/{node_modules,dist}/**",
		".tidemill/**",
		"clients/typescript/src/generated/**",
	],
}).sort();
const texts = new Map(
	files.map((file) => [file, readFileSync(join(root, file), "utf8")]),
);
const imports = importsIn(texts);
/** Tests and benchmarks import everything, so they are not part of the order. */
const sourceImports = imports.filter(
	({ from, to }) => isSource(from) && isSource(to),
);

test("no files import each other in a circle, type-only imports included", () => {
	expect(importCircle(imports, (file) => file)).toEqual([]);
});

test("the files of a folder are all above its subfolders or all below them", () => {
	expect(importCircle(sourceImports, folderOf)).toEqual([]);
});

test("no folders beside each other import each other in a circle", () => {
	const circles = foldersOf(sourceImports).flatMap((parent) => {
		const between = sourceImports.filter(
			({ from, to }) => isDeepIn(parent, from) && isDeepIn(parent, to),
		);
		return importCircle(between, (file) => roomIn(parent, file));
	});
	expect(circles).toEqual([]);
});

test("no import crosses a border between folders", () => {
	const all = [...imports, ...packageImportsIn(texts)];
	expect(crossings(all)).toEqual([]);
});

test("each folder with a program has a border, but for tests and tools, which may import everything", () => {
	const open = files
		.filter((file) => file.includes("/"))
		.map(roomOf)
		.filter((room) => !hasBorder(room) && !/^(test|tools)$/.test(room));
	expect(open).toEqual([]);
});

/** A folder of the root, or one of packages/. */
function roomOf(file: string): string {
	const depth = file.startsWith("packages/") ? 2 : 1;
	return file.split("/").slice(0, depth).join("/");
}

function isSource(file: string): boolean {
	return !isTest(file) && !/^(test|tools\/bench)\//.test(file);
}

/** Every folder that holds folders whose files import something. */
function foldersOf(all: FileImport[]): string[] {
	const parents = all.flatMap(({ from }) => {
		const names = from.split("/").slice(0, -2);
		return [".", ...names.map((_, i) => names.slice(0, i + 1).join("/"))];
	});
	return [...new Set(parents)].sort();
}

function isDeepIn(parent: string, file: string): boolean {
	return (
		dirname(file) !== parent &&
		(parent === "." || file.startsWith(`${parent}/`))
	);
}

/** The folder directly in the parent that holds the file. */
function roomIn(parent: string, file: string): string {
	const depth = parent === "." ? 1 : parent.split("/").length + 1;
	const room = file.split("/").slice(0, depth).join("/");
	return folderOf(file) === file && dirname(file) === room ? file : room;
}
