import { existsSync, mkdirSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** Holds what can be rebuilt, for all Tidemills of a person: `TIDEMILL_CACHE`, else `~/.cache/tidemill`. */
export function cacheDirectory(env: NodeJS.ProcessEnv): string {
	return (
		env.TIDEMILL_CACHE ||
		join(
			env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache"),
			"tidemill",
		)
	);
}

/** The value of `NODE_COMPILE_CACHE` for a process whose static imports Node should cache too. */
export function compileCacheDirectory(env: NodeJS.ProcessEnv): string {
	return join(cacheDirectory(env), "compile-cache");
}

/**
 * Caches the compiled code of later imports, so that the next start takes about half the time. `NODE_COMPILE_CACHE` names
 * another directory. When none can be written, as in an image with a read-only root, there is no cache and no error.
 */
export function cacheCompiledCode(env: NodeJS.ProcessEnv = process.env): void {
	try {
		const directory = compileCacheDirectory(env);
		makeDirectory(directory);
		// Never throws: it returns a failure.
		enableCompileCache(directory);
	} catch {
		// There is no home directory, or it can't be written.
	}
}

/**
 * Makes a directory with its parents. Node's own recursive mkdir, also inside enableCompileCache, never returns where mkdir(2)
 * says ENOENT below an existing directory, as in /proc.
 */
function makeDirectory(path: string): void {
	if (existsSync(path)) return;
	const parent = dirname(path);
	if (parent !== path) makeDirectory(parent);
	try {
		mkdirSync(path, { mode: 0o700 });
	} catch (error) {
		// Another process was faster.
		if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
	}
}
