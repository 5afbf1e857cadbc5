import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

/** Where this person's Tidemills keep what can be made again: `TIDEMILL_CACHE`, else `~/.cache/tidemill`. */
export function cacheDirectory(env: NodeJS.ProcessEnv): string {
	return (
		env.TIDEMILL_CACHE ||
		join(
			env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache"),
			"tidemill",
		)
	);
}

/** For a process that Node must give a compile cache from its first line on, as `NODE_COMPILE_CACHE`. */
export function compileCacheDirectory(env: NodeJS.ProcessEnv): string {
	return join(cacheDirectory(env), "compile-cache");
}

/**
 * Keeps compiled code for the next start of this process, which then needs half the time. `NODE_COMPILE_CACHE` names
 * another directory. Where none can be written, as in an image with a read-only root, there is no cache and no error.
 */
export function cacheCompiledCode(env: NodeJS.ProcessEnv = process.env): void {
	let directory: string;
	try {
		directory = compileCacheDirectory(env);
	} catch {
		// A user without a home directory.
		return;
	}
	// Tells a failure in its result, and throws none.
	enableCompileCache(directory);
}
