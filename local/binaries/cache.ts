import { execFile } from "node:child_process";
import { access, chmod, constants, rename } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "../../packages/service/cache.ts";
import { problem } from "../machine/errors.ts";
import { type BinaryName, type Platform, pinnedBinaries } from "./pinned.ts";

export const thisPlatform: Platform = {
	os: process.platform,
	arch: process.arch,
};

/** Where a downloaded or built program is kept. */
export function cachePath(
	name: BinaryName,
	env: NodeJS.ProcessEnv,
	version: string = pinnedBinaries[name].version,
): string {
	const { os, arch } = thisPlatform;
	return join(cacheDirectory(env), `${name}-${version}-${os}-${arch}`);
}

/**
 * The program in the cache; undefined when it isn't there.
 * @param olderPatches whether the publisher's build counts, too.
 */
export async function inCache(
	name: BinaryName,
	env: NodeJS.ProcessEnv,
	olderPatches: boolean,
): Promise<string | undefined> {
	const { version, release } = pinnedBinaries[name];
	const published = olderPatches && release(thisPlatform)?.version;
	for (const each of [version, published || version]) {
		const path = cachePath(name, env, each);
		if (await isExecutable(path)) return path;
	}
	return undefined;
}

/** Moves a program that may be trusted into the cache, once it has run. */
export async function intoCache(
	name: BinaryName,
	file: string,
	target: string,
): Promise<void> {
	await chmod(file, 0o755);
	await checkRuns(name, file);
	await rename(file, target);
}

/** Throws a LocalError unless the program tells its version on this machine. */
export async function checkRuns(name: BinaryName, path: string): Promise<void> {
	let answer: string;
	try {
		const { stdout, stderr } = await promisify(execFile)(
			path,
			pinnedBinaries[name].versionArgs,
			{ timeout: 20_000 },
		);
		answer = `${stdout}\n${stderr}`;
	} catch (error) {
		// The system runs an unknown file as a shell script, so a build for another processor looks like a damaged file.
		throw problem.wrongFile(
			path,
			(error as NodeJS.ErrnoException).code === "EACCES"
				? "it is not executable"
				: `it does not answer ${pinnedBinaries[name].versionArgs.join(" ")}; it is damaged, or built for another system or processor`,
		);
	}
	if (!/\d+\.\d+\.\d+/.test(answer))
		throw problem.wrongFile(path, "it does not tell its version");
}

function isExecutable(path: string): Promise<boolean> {
	return access(path, constants.X_OK).then(
		() => true,
		() => false,
	);
}
