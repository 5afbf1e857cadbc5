import { basename, dirname, join } from "node:path";

/** One file of the repository imports another; paths are relative to the root. */
export interface FileImport {
	from: string;
	to: string;
	/** By `import()`, when it is needed. */
	isLazy?: true;
	/** `to` is a package, of npm or of Node. */
	isPackage?: true;
}

/** @param files The text of each file by its path. Type-only imports and `import()` count as well. */
export function importsIn(files: ReadonlyMap<string, string>): FileImport[] {
	return [...files].flatMap(([from, text]) =>
		[
			...text.matchAll(
				/\b(?:from|import)\s*(\(?)\s*["'](\.{1,2}\/[^"']+)["']/g,
			),
		].map(([, parenthesis, specifier]) => ({
			from,
			to: join(dirname(from), specifier!),
			...(parenthesis && { isLazy: true as const }),
		})),
	);
}

/** The packages that files import, by the names that the files give. */
export function packageImportsIn(
	files: ReadonlyMap<string, string>,
): FileImport[] {
	const named = /\b(?:from|import)\s*(\(?)\s*["']([\w@][^"']*)["']/g;
	return [...files].flatMap(([from, text]) =>
		[...text.matchAll(named)].map(([, parenthesis, to]) => ({
			from,
			to: to!,
			isPackage: true as const,
			...(parenthesis && { isLazy: true as const }),
		})),
	);
}

export function isTest(file: string): boolean {
	return /\.test\.tsx?$/.test(file);
}

/** A process's main.ts is above everything, so it counts as a folder of its own. */
export function folderOf(file: string): string {
	return basename(file) === "main.ts" ? file : dirname(file);
}

export function topOf(file: string): string {
	return file.split("/")[0]!;
}

/** One circle among what the files belong to, as the imports that make it; empty if there is none. */
export function importCircle(
	imports: FileImport[],
	nodeOf: (file: string) => string,
): string[] {
	const edges = new Map<string, Map<string, string>>();
	for (const { from, to } of imports) {
		const [source, target] = [nodeOf(from), nodeOf(to)];
		if (source === target) continue;
		if (!edges.has(source)) edges.set(source, new Map());
		edges.get(source)!.set(target, `${from} → ${to}`);
	}
	const path: string[] = [];
	const done = new Set<string>();
	for (const node of edges.keys()) {
		const found = visit(node);
		if (found) return found;
	}
	return [];

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

/** Digest of each file by its path from the root. */
export type CheckedFiles = Record<string, string>;

/**
 * The files of which a check that follows imports may say something else than before: those that are new or have changed, and
 * whatever imports one of them or one that is gone, through however many others. All of them if nothing is known, or if one of
 * `rules` isn't as it was. Sorted.
 */
export function affectedFiles({
	before,
	now,
	rules,
	texts,
}: {
	/** At the last check that found nothing. */
	before: CheckedFiles | undefined;
	now: CheckedFiles;
	/** Paths of what decides about every file. */
	rules: readonly string[];
	/** Of the code in `now`. */
	texts: ReadonlyMap<string, string>;
}): string[] {
	const all = Object.keys(now).sort();
	if (!before || rules.some((path) => before[path] !== now[path])) return all;
	const importers = Map.groupBy(importsIn(texts), ({ to }) => to);
	const paths = new Set([...Object.keys(before), ...all]);
	const affected = new Set(
		[...paths].filter((path) => before[path] !== now[path]),
	);
	// What is added on the way is visited, too.
	for (const path of affected)
		for (const { from } of importers.get(path) ?? []) affected.add(from);
	return all.filter((path) => affected.has(path));
}

/** All files that are read when some are imported, these included; what they import lazily as well. */
export function filesReached(
	imports: FileImport[],
	mains: string[],
): Set<string> {
	const importsOf = Map.groupBy(imports, ({ from }) => from);
	const reached = new Set(mains);
	for (const file of reached)
		for (const { to } of importsOf.get(file) ?? []) reached.add(to);
	return reached;
}
