import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { cacheDirectory } from "../../packages/service/cache.ts";
import { problem } from "../machine/errors.ts";
import { withLock } from "../machine/lock.ts";
import { isOn } from "../machine/switches.ts";
import { DownloadFailure, minutes } from "./archive-stream.ts";
import { BuildFailure, buildPrograms } from "./build.ts";
import { cachePath, inCache, intoCache, thisPlatform } from "./cache.ts";
import { Downloader, WrongDigest } from "./download.ts";
import {
	type BinaryName,
	type Digest,
	type PinnedRelease,
	pinnedBinaries,
	undigested,
} from "./pinned.ts";
import {
	buildSeconds,
	describeProgress,
	type ServersOnTheirWay,
} from "./progress.ts";

/** What decides how programs are found, and who hears of it. */
export interface Surroundings {
	env: NodeJS.ProcessEnv;
	/** Hears what takes time, and how long it may take. */
	report: (text: string) => void;
	/** Hears why something takes long. */
	say: (text: string) => void;
	/** Hears what a person should still read when all is well in the end. */
	warn: (text: string) => void;
	/** Cancels a download or build. */
	signal: AbortSignal;
	/** Digests of the releases that may be downloaded, by path; the committed ones unless given. */
	digests: Record<string, Digest>;
	/** Takes a publisher's build, too, if it is an older patch than what Tidemill is tested with. */
	olderPatches: boolean;
}

/** Begins the name of the folder for what isn't in the cache yet. */
const unfinished = "unfinished-";

/** Downloads what it can and builds the rest meanwhile, into the cache. One process at a time does this. */
export async function obtain(
	names: BinaryName[],
	surroundings: Surroundings,
): Promise<Map<BinaryName, string>> {
	const { env, report, olderPatches } = surroundings;
	const cache = cacheDirectory(env);
	await mkdir(cache, { recursive: true });
	const on: ServersOnTheirWay = { downloads: [], builds: [] };
	return withLock(
		join(cache, "lock"),
		({ pid }) => report(describeProgress({ ...on, waitingFor: pid })),
		async () => {
			// Whoever left them had the lock, and was killed.
			for (const entry of await readdir(cache))
				if (entry.startsWith(unfinished))
					await rm(join(cache, entry), { recursive: true, force: true });
			const directory = await mkdtemp(join(cache, unfinished));
			try {
				const obtaining = new Obtaining(directory, on, surroundings);
				const paths = new Map<BinaryName, string>();
				for (const name of names) {
					// The former owner of the lock may have got it.
					const path = await inCache(name, env, olderPatches);
					if (path) paths.set(name, path);
				}
				const missing = names.filter((name) => !paths.has(name));
				for (const [name, path] of await obtaining.all(missing))
					paths.set(name, path);
				return paths;
			} finally {
				await rm(directory, { recursive: true, force: true });
			}
		},
	);
}

/** Gets programs once. */
class Obtaining {
	readonly #directory: string;
	readonly #on: ServersOnTheirWay;
	readonly #surroundings: Surroundings;
	readonly #paths = new Map<BinaryName, string>();
	/** Why what is built isn't downloaded. */
	readonly #reasons = new Map<string, BinaryName[]>();
	readonly #said = new Set<string>();

	constructor(
		directory: string,
		on: ServersOnTheirWay,
		surroundings: Surroundings,
	) {
		this.#directory = directory;
		this.#on = on;
		this.#surroundings = surroundings;
	}

	async all(names: BinaryName[]): Promise<Map<BinaryName, string>> {
		const archives = new Map<string, BinaryName[]>();
		const toBuild: BinaryName[] = [];
		for (const name of names) {
			const found = this.#download(name);
			if (typeof found === "string") {
				this.#addReason(found, [name]);
				toBuild.push(name);
			} else
				archives.set(found.path, [...(archives.get(found.path) ?? []), name]);
		}
		this.#sayReasons();
		const abort = new AbortController();
		const signal = AbortSignal.any([abort.signal, this.#surroundings.signal]);
		const downloader = new Downloader(this.#surroundings.env, signal);
		const downloads = Promise.all(
			[...archives.values()].map((group) => this.#fetch(group, downloader)),
		);
		// It is awaited below, when the builds have ended.
		downloads.catch(() => {});
		try {
			await this.#build(toBuild);
			const notCome = (await downloads).flat();
			if (notCome.length > 0) this.#sayReasons();
			await this.#build(notCome);
		} finally {
			abort.abort();
			await downloads.catch(() => {});
		}
		return this.#paths;
	}

	/** The release of which a program may come, or why none may. */
	#download(name: BinaryName): PinnedRelease | string {
		const { env, digests, olderPatches } = this.#surroundings;
		if (!isOn(env, "TIDEMILL_DOWNLOADS", true))
			return "TIDEMILL_DOWNLOADS is off";
		const { version, release } = pinnedBinaries[name];
		const found = release(thisPlatform);
		const { os, arch } = thisPlatform;
		if (!found) return `its publisher has no build for ${os}/${arch}`;
		if (found.version !== version && !olderPatches)
			return `the publisher's build that is pinned is ${found.version}, not ${version}`;
		if (digests[found.path]) return found;
		return undigested[name] ?? "Tidemill has no digest of its release";
	}

	/** Gets the programs of one archive. Returns those that have to be built instead. */
	async #fetch(
		group: BinaryName[],
		downloader: Downloader,
	): Promise<BinaryName[]> {
		const { env, digests, warn } = this.#surroundings;
		const releases = group.map(
			(name) => pinnedBinaries[name].release(thisPlatform)!,
		);
		const files = new Map(
			releases.map(({ member }, place) => [
				member,
				join(this.#directory, `${group[place]}.download`),
			]),
		);
		const archive = releases[0]!;
		const { downloads } = this.#on;
		const place =
			downloads.push({ bytes: 0, total: undefined, secondsLeft: undefined }) -
			1;
		try {
			await downloader.fetchPrograms(
				archive,
				digests[archive.path] as Digest,
				files,
				{
					longestSeconds: buildSeconds(group) ?? Number.POSITIVE_INFINITY,
					onReceived: (received) => {
						downloads[place] = received;
						this.#report();
					},
				},
			);
		} catch (error) {
			for (const file of files.values()) await rm(file, { force: true });
			if (error instanceof WrongDigest) {
				const { url, expected, actual } = error;
				const told = problem.wrongDigest(url, expected, actual);
				if (env.CI) throw told;
				warn(told.message);
			}
			if (!(error instanceof DownloadFailure)) throw error;
			this.#addReason(error.message, group);
			return group;
		} finally {
			delete downloads[place];
		}
		for (const [at, name] of group.entries()) {
			const target = cachePath(name, env, releases[at]!.version);
			await intoCache(name, files.get(releases[at]!.member)!, target);
			this.#paths.set(name, target);
		}
		return [];
	}

	/** Builds programs, module by module. */
	async #build(names: BinaryName[]): Promise<void> {
		const { env, signal } = this.#surroundings;
		const groups = [
			...Map.groupBy(names, (name) => pinnedBinaries[name].module).values(),
		];
		for (const [done, group] of groups.entries()) {
			const startedMs = Date.now();
			this.#on.builds = groups.slice(done);
			const file = (name: BinaryName) => join(this.#directory, name);
			try {
				await buildPrograms(new Map(group.map((name) => [name, file(name)])), {
					env,
					signal,
					report: (step, packages) => {
						const secondsSoFar = (Date.now() - startedMs) / 1000;
						this.#on.step = step;
						if (packages) this.#on.compiling = { ...packages, secondsSoFar };
						this.#report();
					},
				});
			} catch (error) {
				if (!(error instanceof BuildFailure)) throw error;
				throw problem.cannotObtain(group, [
					...this.#reasons.keys(),
					error.message,
				]);
			}
			delete this.#on.compiling;
			delete this.#on.step;
			for (const name of group) {
				const target = cachePath(name, env);
				await intoCache(name, file(name), target);
				this.#paths.set(name, target);
			}
		}
		this.#on.builds = [];
	}

	#report(): void {
		this.#surroundings.report(describeProgress(this.#on));
	}

	#addReason(why: string, names: BinaryName[]): void {
		this.#reasons.set(why, [...(this.#reasons.get(why) ?? []), ...names]);
	}

	/** A line for each that nobody has heard. */
	#sayReasons(): void {
		for (const [why, names] of this.#reasons) {
			if (this.#said.has(why)) continue;
			this.#said.add(why);
			const seconds = buildSeconds(names);
			const takes = seconds ? `, in about ${minutes(seconds)}` : "";
			this.#surroundings.say(`Building ${names.join(", ")}${takes}: ${why}.`);
		}
	}
}
