import { execFile } from "node:child_process";
import {
	access,
	chmod,
	constants,
	mkdir,
	rename,
	rm,
	stat,
} from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "../../packages/service/cache.ts";
import { problem } from "../machine/errors.ts";
import { withLock } from "../machine/lock.ts";
import { BuildFailure, buildPrograms } from "./build.ts";
import { Downloader, DownloadFailure } from "./download.ts";
import {
	type BinaryName,
	type Platform,
	pinnedBinaries,
	releaseDigests,
} from "./pinned.ts";

interface Surroundings {
	env: NodeJS.ProcessEnv;
	report: (name: BinaryName, text: string) => void;
	/** Cancels a download or build. */
	signal: AbortSignal;
	/** SHA-256 of the releases that may be downloaded, by path; the committed ones unless given. */
	digests: Record<string, string>;
}

const thisPlatform: Platform = { os: process.platform, arch: process.arch };

/**
 * Finds the programs, each in the first place that has it: the folder `TIDEMILL_BIN`; the cache; the publisher's
 * download, if its SHA-256 is committed; a build from source. The last two fill the cache. `TIDEMILL_DOWNLOADS=off` skips the download. `PATH` doesn't count: what
 * happens to be installed must not decide what runs. Returns absolute paths; throws a LocalError that says what to do.
 * `report` hears about every step that takes time.
 */
export async function resolveBinaries<Name extends BinaryName>(
	names: Name[],
	options: Partial<Surroundings> = {},
): Promise<Record<Name, string>> {
	const surroundings: Surroundings = {
		env: process.env,
		report: () => {},
		signal: new AbortController().signal,
		digests: releaseDigests,
		...options,
	};
	const { env } = surroundings;
	const paths = new Map<BinaryName, string>();
	for (const name of names) {
		const path =
			(await inBinDirectory(name, env)) ?? (await inCache(name, env));
		if (path) paths.set(name, path);
	}
	const missing = names.filter((name) => !paths.has(name));
	if (missing.length > 0) {
		await obtain(missing, surroundings);
		for (const name of missing) paths.set(name, cachePath(name, env));
	}
	return Object.fromEntries(paths) as Record<Name, string>;
}

/** Where a downloaded or built program is kept. */
export function cachePath(
	name: BinaryName,
	env: NodeJS.ProcessEnv,
	{ os, arch }: Platform = thisPlatform,
): string {
	const { version } = pinnedBinaries[name];
	return join(cacheDirectory(env), `${name}-${version}-${os}-${arch}`);
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
	if (!(await exists(path))) return undefined;
	await checkRuns(name, path);
	return path;
}

async function inCache(
	name: BinaryName,
	env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
	const path = cachePath(name, env);
	return (await isExecutable(path)) ? path : undefined;
}

/** Downloads what it can and builds the rest, into the cache. One process at a time does this. */
async function obtain(
	names: BinaryName[],
	surroundings: Surroundings,
): Promise<void> {
	const { env, report, signal } = surroundings;
	const directory = cacheDirectory(env);
	await mkdir(directory, { recursive: true });
	await withLock(
		join(directory, "lock"),
		({ pid }) => {
			for (const name of names)
				report(name, `waiting for process ${pid} to get it`);
		},
		async () => {
			const downloader = new Downloader(env, signal);
			const reasons = new Set<string>();
			const toBuild: BinaryName[] = [];
			for (const name of names) {
				// The former owner of the lock may have got it.
				if (await inCache(name, env)) continue;
				signal.throwIfAborted();
				const failure = await download(name, downloader, surroundings);
				if (failure === undefined) continue;
				reasons.add(failure);
				report(name, `will be built: ${failure}`);
				toBuild.push(name);
			}
			await build(toBuild, reasons, surroundings);
		},
	);
}

/** Returns why the download failed, or undefined when the program is in the cache. */
async function download(
	name: BinaryName,
	downloader: Downloader,
	{ env, report, digests }: Surroundings,
): Promise<string | undefined> {
	if (env.TIDEMILL_DOWNLOADS === "off") return "TIDEMILL_DOWNLOADS is off";
	const release = pinnedBinaries[name].release(thisPlatform);
	if (!release)
		return `its publisher has no build for ${thisPlatform.os}/${thisPlatform.arch}`;
	const sha256 = digests[release.path];
	if (!sha256) return "this version of Tidemill pins no SHA-256 of its release";
	try {
		await intoCache(name, env, (target) =>
			downloader.fetchProgram(release, sha256, name, target, (text) =>
				report(name, text),
			),
		);
		report(name, "downloaded");
		return undefined;
	} catch (error) {
		if (error instanceof DownloadFailure) return error.message;
		throw error;
	}
}

/** Builds the programs, module by module. */
async function build(
	names: BinaryName[],
	reasons: Set<string>,
	{ env, report, signal }: Surroundings,
): Promise<void> {
	const modules = Map.groupBy(names, (name) => pinnedBinaries[name].module);
	for (const group of modules.values()) {
		const targets = new Map(
			group.map((name) => [name, `${cachePath(name, env)}.partial`]),
		);
		try {
			await buildPrograms(targets, {
				env,
				signal,
				report: (text) => {
					for (const name of group) report(name, text);
				},
			});
		} catch (error) {
			if (!(error instanceof BuildFailure)) throw error;
			throw problem.cannotObtain(group, [...reasons, error.message]);
		}
		for (const name of group) {
			await intoCache(name, env, () => Promise.resolve());
			report(name, "built");
		}
	}
}

/** Writes a program aside and renames it into the cache once it has run. */
async function intoCache(
	name: BinaryName,
	env: NodeJS.ProcessEnv,
	write: (target: string) => Promise<void>,
): Promise<void> {
	const target = cachePath(name, env);
	const partial = `${target}.partial`;
	try {
		await write(partial);
		await chmod(partial, 0o755);
		await checkRuns(name, partial);
		await rename(partial, target);
	} finally {
		await rm(partial, { force: true });
	}
}

/** Throws a LocalError unless the program tells its version on this machine. */
async function checkRuns(name: BinaryName, path: string): Promise<void> {
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

function exists(path: string): Promise<boolean> {
	return access(path).then(
		() => true,
		() => false,
	);
}

function isExecutable(path: string): Promise<boolean> {
	return access(path, constants.X_OK).then(
		() => true,
		() => false,
	);
}
