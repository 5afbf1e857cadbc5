import { rmSync } from "node:fs";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundle } from "../../tools/image/bundle.ts";

/**
 * Global setup of the projects that start Tidemill's processes: they run the image's bundle, which starts in a third of the
 * CPU time. `make test` bundles once for all lanes.
 */
export default async function setup(): Promise<void> {
	if (!process.env.TEST_PROGRAM) await bundleProgram();
}

/**
 * Names the bundle in TEST_PROGRAM for the processes that start from here, and in TIDEMILL_COMMAND for local mode. It goes with
 * this process.
 */
export async function bundleProgram(): Promise<void> {
	// Inside the project, where it finds DuckDB.
	const parent = join(import.meta.dirname, "../../.tidemill");
	await mkdir(parent, { recursive: true });
	const directory = await mkdtemp(join(parent, "test-program-"));
	process.on("exit", () =>
		rmSync(directory, { recursive: true, force: true, maxRetries: 10 }),
	);
	await bundle(directory, process.execPath);
	process.env.TEST_PROGRAM = join(directory, "tidemill.js");
	// It would be of no use to another bundle.
	process.env.NODE_COMPILE_CACHE = join(directory, "compiled");
	process.env.TIDEMILL_COMMAND = join(directory, "tidemill");
	await writeFile(process.env.TIDEMILL_COMMAND, commandText(), { mode: 0o755 });
}

/** Local mode's processes inherit little, so the cache would be the person's. */
function commandText(): string {
	const { NODE_COMPILE_CACHE: cache, TEST_PROGRAM: program } = process.env;
	return `#!/bin/sh\nNODE_COMPILE_CACHE='${cache}' exec '${process.execPath}' '${program}' "$@"\n`;
}
