import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const files = globSync("**/*.ts", {
	cwd: root,
	exclude: ["**/node_modules/**", ".tidemill/**"],
}).sort();
const imports = files.flatMap(importsOf);
/** Tests and benchmarks import everything, so they are not part of the order. */
const sourceImports = imports.filter(
	({ from, to }) => isSource(from) && isSource(to),
);

test("no files import each other in a circle, type-only imports included", () => {
	expect(circle(imports, (file) => file)).toEqual([]);
});

test("the files of a folder are all above its subfolders or all below them", () => {
	expect(circle(sourceImports, folderOf)).toEqual([]);
});

test("no folders beside each other import each other in a circle", () => {
	const circles = foldersOf(sourceImports).flatMap((parent) => {
		const between = sourceImports.filter(
			({ from, to }) => isDeepIn(parent, from) && isDeepIn(parent, to),
		);
		return circle(between, (file) => roomIn(parent, file));
	});
	expect(circles).toEqual([]);
});

test("a folder imports only the folders that CONTRIBUTING.md lists for it", () => {
	const allowed = allowedImports();
	const others = sourceImports.filter(({ from, to }) => {
		const [source, target] = [topOf(from), topOf(to)];
		const targets = allowed.get(source) ?? [];
		return (
			source !== target && !targets.includes(target) && targets[0] !== "all"
		);
	});
	expect(others).toEqual([]);
});

/** Its table of folders: "| `folder/` | what it holds | `other`, `folders` |". */
function allowedImports(): Map<string, string[]> {
	const page = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
	const rows = page.matchAll(/^\| (`\w+\/`[^|]*) \|[^|]*\|([^|]*)\|$/gm);
	return new Map(
		[...rows].flatMap(([, folders, targets]) =>
			[...folders!.matchAll(/`(\w+)\/`/g)].map(
				([, folder]) => [folder!, targets!.match(/\w+/g) ?? []] as const,
			),
		),
	);
}

function topOf(file: string): string {
	return file.split("/")[0]!;
}

interface Import {
	from: string;
	to: string;
}

function importsOf(file: string): Import[] {
	const text = readFileSync(join(root, file), "utf8");
	const specifiers = text.matchAll(
		/\b(?:from|import)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g,
	);
	return [...specifiers].map(([, specifier]) => ({
		from: file,
		to: join(dirname(file), specifier!),
	}));
}

function isSource(file: string): boolean {
	return !/^(test|bench)\/|\.test\.ts$/.test(file);
}

/** A process's main.ts is above everything, so it counts as a folder of its own. */
function folderOf(file: string): string {
	return basename(file) === "main.ts" ? file : dirname(file);
}

/** Every folder that holds folders whose files import something. */
function foldersOf(all: Import[]): string[] {
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

/** One circle among what the files belong to, as the imports that make it; empty if there is none. */
function circle(all: Import[], nodeOf: (file: string) => string): string[] {
	const edges = new Map<string, Map<string, string>>();
	for (const { from, to } of all) {
		const [source, target] = [nodeOf(from), nodeOf(to)];
		if (source === target) continue;
		if (!edges.has(source)) edges.set(source, new Map());
		edges.get(source)!.set(target, `${from} → ${to}`);
	}
	const path: string[] = [];
	const done = new Set<string>();
	return walk() ?? [];

	function walk(): string[] | undefined {
		for (const node of edges.keys()) {
			const found = visit(node);
			if (found) return found;
		}
	}

	function visit(node: string): string[] | undefined {
		const start = path.indexOf(node);
		if (start >= 0) {
			const nodes = [...path.slice(start), node];
			return nodes.slice(1).map((next, i) => edges.get(nodes[i]!)!.get(next)!);
		}
		if (done.has(node)) return;
		path.push(node);
		for (const next of edges.get(node)?.keys() ?? []) {
			const found = visit(next);
			if (found) return found;
		}
		path.pop();
		done.add(node);
	}
}
