import { createHash } from "node:crypto";
import {
	existsSync,
	globSync,
	mkdirSync,
	readFileSync,
	renameSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** All that decides what {@link writeCode} writes. */
const sources = [
	"charts/tidemill/files/crds/*.yaml",
	"crds/resource-schema.ts",
	"crds/parts/*.yaml",
	"ingest/receive/text/*.wat",
	"package-lock.json",
	"packages/warehouses/*.ts",
	"packages/warehouses/*/{crd.yaml,definition.ts,local-server.ts}",
	"tools/generate/{code-files,crd-types}.ts",
];
/** Which sources the code is of, and its files. In the folder that goes with the code, and not in one that clones may share. */
const record = "crds/generated/made-from.json";

/**
 * Writes the code that follows from other files, which Git ignores: what TypeScript knows of the CRDs, lists of the types of
 * warehouse, and the assembled reader of JSON. Programs and tests import it, so `make`, npm's scripts, vitest.config.ts and
 * cli/bin/tidemill run this before they start. It costs a tenth of a second when no source has changed, and leaves the files
 * alone whose text is the same.
 */
async function writeCode(): Promise<void> {
	const digest = digestOfSources();
	if (isMadeFrom(digest)) return;
	// It takes half a second to read the CRDs.
	const { codeFiles } = await import("./code-files.ts");
	const files = codeFiles();
	for (const [path, text] of files) write(path, text);
	const paths = files.map(([path]) => path);
	write(record, `${JSON.stringify({ digest, paths })}\n`);
}

function digestOfSources(): string {
	const hash = createHash("sha256");
	for (const path of globSync(sources, { cwd: root }).sort())
		hash.update(`\0${path}\0`).update(readFileSync(join(root, path)));
	return hash.digest("hex");
}

function isMadeFrom(digest: string): boolean {
	if (!existsSync(join(root, record))) return false;
	const made: { digest: string; paths: string[] } = JSON.parse(
		readFileSync(join(root, record), "utf8"),
	);
	const isThere = (path: string) => existsSync(join(root, path));
	return made.digest === digest && made.paths.every(isThere);
}

/** In one step, since several programs may do it at once. */
function write(path: string, text: string): void {
	const file = join(root, path);
	if (existsSync(file) && readFileSync(file, "utf8") === text) return;
	mkdirSync(dirname(file), { recursive: true });
	writeFileSync(`${file}.${process.pid}`, text);
	renameSync(`${file}.${process.pid}`, file);
}

await writeCode();
