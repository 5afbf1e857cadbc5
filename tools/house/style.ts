import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { affectedFiles, type CheckedFiles } from "./import-graph.ts";

/**
 * `make style`: Biome's format and lint. It reads the types of all packages and takes half of the CPU time of `make check`, so
 * files are checked that it may judge otherwise than it did when all was well: those that have changed, and what imports them.
 */
const root = join(import.meta.dirname, "../..");
const stateFile = join(root, "node_modules/.cache/style.json");
/** What decides about every file. */
const rules = [
	".gitignore",
	"biome.json",
	"package-lock.json",
	"package.json",
	"tsconfig.json",
	"console/tsconfig.json",
];

const { files, texts } = readFiles();
const affected = affectedFiles({
	before: readState(),
	now: files,
	rules,
	texts,
});
if (affected.length === 0)
	console.log("No file has changed since the last check of style.");
else {
	// Biome finds all by itself, and what it ignores.
	const isAll = affected.length === Object.keys(files).length;
	const what = isAll
		? ["."]
		: ["--files-ignore-unknown=true", "--no-errors-on-unmatched", ...affected];
	const { status } = spawnSync(
		process.execPath,
		[
			join(root, "node_modules/.bin/biome"),
			"check",
			"--error-on-warnings",
			...what,
		],
		{ cwd: root, stdio: "inherit" },
	);
	if (status !== 0) process.exit(status ?? 1);
}
mkdirSync(dirname(stateFile), { recursive: true });
writeFileSync(stateFile, JSON.stringify(files));

/** The digest of each file that Git knows or may come to know, and the text of code, which says what imports what. */
function readFiles(): { files: CheckedFiles; texts: Map<string, string> } {
	const paths = execFileSync(
		"git",
		["ls-files", "--cached", "--others", "--exclude-standard", "-z"],
		{ cwd: root, encoding: "utf8", maxBuffer: 1 << 26 },
	)
		.split("\0")
		.filter(isFile);
	const files: CheckedFiles = {};
	const texts = new Map<string, string>();
	for (const path of paths.sort()) {
		if (path.endsWith(".md")) continue;
		const bytes = readFileSync(join(root, path));
		files[path] = createHash("sha256").update(bytes).digest("base64");
		if (/\.tsx?$/.test(path)) texts.set(path, bytes.toString());
	}
	return { files, texts };
}

/** Neither a deleted one, nor a repository inside this one or a link to a folder, which Git lists as well. */
function isFile(path: string): boolean {
	const found = statSync(join(root, path), { throwIfNoEntry: false });
	return path !== "" && found !== undefined && found.isFile();
}

function readState(): CheckedFiles | undefined {
	try {
		return JSON.parse(readFileSync(stateFile, "utf8"));
	} catch {
		return undefined;
	}
}
