import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import {
	type FileImport,
	folderOf,
	importCircle,
	importsIn,
	topOf,
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
const imports = importsIn(
	new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")])),
);
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

test("a folder imports only the folders that CONTRIBUTING.md lists for it", () => {
	const allowed = allowedImports();
	const others = sourceImports.filter(({ from, to, isLazy }) => {
		const source = roomOf(from);
		const { always = [], lazily = [] } = allowed.get(source) ?? {};
		const targets = [source, ...always, ...(isLazy ? lazily : [])];
		return !targets.some((one) => one === "all" || to.startsWith(`${one}/`));
	});
	expect(others).toEqual([]);
});

test("only ingest imports what loads a warehouse; the CLI begins to when somebody queries one", () => {
	const load = /^packages\/warehouses\/(\w+\/)?load\//;
	const others = sourceImports
		.filter(({ from, to }) => load.test(to) && !load.test(from))
		.filter(({ from }) => topOf(from) !== "ingest" && topOf(from) !== "tools");
	expect(others.map(({ from }) => from)).toEqual(["cli/bin/sql.ts"]);
	const text = readFileSync(join(root, "cli/bin/sql.ts"), "utf8");
	expect(text).not.toMatch(/ from "[^"]*\/load\//);
});

test("what people read in the console stands in its files of words, so that it can be translated", () => {
	const shown = files
		.filter((file) => /^console\/(?!messages\/)[^.]*\.tsx?$/.test(file))
		.flatMap((file) => {
			const text = readFileSync(join(root, file), "utf8")
				.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "")
				// Names of classes, in which words stand side by side.
				.replaceAll(/\bclass=("[^"]*"|\{[^{}]*(\{[^{}]*\}[^{}]*)*\})/g, "");
			return [...text.matchAll(sentence), ...text.matchAll(betweenTags)].map(
				([found]) => `${file}: ${found}`,
			);
		})
		.filter((one) => !/var\(--|tidemill events replay/.test(one));
	expect(shown).toEqual([]);
});

/** Two words side by side in quotes. */
const sentence = /(["`])[A-Za-z][^"`\n]*?\b[A-Za-z]{2,} [a-z]{2,}[^"`\n]*\1/g;
/** A word that JSX has as it is. */
const betweenTags = /(?<=[^=]>)\s*[A-Za-z]{2,}[\w ,.’']*(?=<\/)/g;

/** A folder of the root, or one of packages/. */
function roomOf(file: string): string {
	const depth = file.startsWith("packages/") ? 2 : 1;
	return file.split("/").slice(0, depth).join("/");
}

/** Its table of folders: "| `folder/` | what it holds | `other`, `folders`; by `import()` alone: `more` |". */
function allowedImports() {
	const page = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
	const rows = page.matchAll(/^\| `([\w/-]+)\/` \|[^|]*\|([^|]*)\|$/gm);
	const namesIn = (text = "") => text.match(/[\w/-]+(?=`)|\ball\b/g) ?? [];
	return new Map(
		[...rows].map(([, folder, targets]) => {
			const [always, lazily] = targets!.split(";").map(namesIn);
			return [folder!, { always, lazily }];
		}),
	);
}

function isSource(file: string): boolean {
	return !/^(test|tools\/bench)\/|\.test\.tsx?$/.test(file);
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
