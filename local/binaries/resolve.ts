import { access, stat } from "node:fs/promises";
import { join } from "node:path";
import { problem } from "../machine/errors.ts";
import { checkRuns, inCache } from "./cache.ts";
import { obtain, type Surroundings } from "./obtain.ts";
import { type BinaryName, releaseDigests } from "./pinned.ts";

/**
 * Finds the programs, each in the first place that has it: the folder `TIDEMILL_BIN`; the cache; the publisher's
 * download, if its digest is committed; a build from source. The last two fill the cache. `TIDEMILL_DOWNLOADS=off` skips the download. `PATH` doesn't count: what
 * happens to be installed must not decide what runs. Returns absolute paths; throws a LocalError that says what to do.
 */
export async function resolveBinaries<Name extends BinaryName>(
	names: Name[],
	options: Partial<Surroundings> = {},
): Promise<Record<Name, string>> {
	const surroundings: Surroundings = {
		env: process.env,
		report: () => {},
		say: () => {},
		warn: () => {},
		signal: new AbortController().signal,
		digests: releaseDigests,
		olderPatches: false,
		...options,
	};
	const { env, olderPatches } = surroundings;
	const paths = new Map<BinaryName, string>();
	for (const name of names) {
		const path =
			(await inBinDirectory(name, env)) ??
			(await inCache(name, env, olderPatches));
		if (path) paths.set(name, path);
	}
	const missing = names.filter((name) => !paths.has(name));
	if (missing.length > 0)
		for (const [name, path] of await obtain(missing, surroundings))
			paths.set(name, path);
	return Object.fromEntries(paths) as Record<Name, string>;
}

/** The person's own choice: any version that runs. */
async function inBinDirectory(
	name: BinaryName,
	env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
	const directory = env.TIDEMILL_BIN;
	if (!directory) return undefined;
	const found = await stat(directory).catch(() => undefined);
	if (!found?.isDirectory()) throw problem.binDirectoryMissing(directory);
	const path = join(directory, name);
	const isThere = await access(path).then(
		() => true,
		() => false,
	);
	if (!isThere) return undefined;
	await checkRuns(name, path);
	return path;
}
