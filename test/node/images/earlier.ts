import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { LocalError } from "../../../local/machine/errors.ts";
import { projectDirectory } from "../../../local/machine/home.ts";
import { cacheDirectory } from "../../../packages/service/cache.ts";
import { type ImageValues, imageValues } from "../given/image.ts";

/** The version that an upgrade begins with; the newest release once there is one. Its cluster-wide names lack the release. */
const commit = "c6cfe3f981c9078956b6f3fd85c9b510f18c215c";

/** A version of Tidemill that is no longer the repository's. */
export interface EarlierVersion {
	commit: string;
	/** Its image's name in the chart's values. */
	image: ImageValues;
	/** Its image, as a file that `ctr images import` takes. */
	archive: string;
	/** Folder of its chart. */
	chart: string;
	/** File of the values with which it was tried on a node. */
	values: string;
}

/**
 * Builds the image of an earlier commit, which takes a minute; the result stays in the cache. Undefined if it is not there, and
 * this clone doesn't have the commit either.
 */
export async function earlierVersion(): Promise<EarlierVersion | undefined> {
	const name = `ghcr.io/tidemill/tidemill:e2e-${commit.slice(0, 7)}`;
	const folder = join(cacheDirectory(process.env), "versions", commit);
	if (!existsSync(folder)) {
		if (!(await isInClone())) {
			console.warn(
				`The upgrade is NOT tested: this clone is shallow and has no commit ${commit}. Get it with: git fetch --unshallow`,
			);
			return undefined;
		}
		await build(folder, name);
	}
	return {
		commit,
		image: imageValues(name),
		archive: join(folder, "tidemill.tar"),
		chart: join(folder, "chart"),
		values: join(folder, "values.yaml"),
	};
}

function isInClone(): Promise<boolean> {
	const git = ["-C", projectDirectory, "cat-file", "-e", `${commit}^{commit}`];
	return promisify(execFile)("git", git).then(
		() => true,
		() => false,
	);
}

async function build(folder: string, image: string): Promise<void> {
	await mkdir(join(folder, ".."), { recursive: true });
	const partial = await mkdtemp(`${folder}-`);
	const sources = join(partial, "sources");
	try {
		await run("git", ["clone", "--quiet", projectDirectory, sources]);
		const git = ["-C", sources];
		await run("git", [...git, "checkout", "--quiet", "--detach", commit]);
		// Its lock file is too old for `npm ci`.
		await run("npm", ["install", "--no-save", "--loglevel=error"], {
			cwd: sources,
		});
		// Where that commit has it.
		await run("node_modules/.bin/node", ["image/build.ts"], {
			cwd: sources,
			env: {
				...process.env,
				IMAGE: image,
				BUILDER: "here",
				ARCHIVE: join(partial, "tidemill.tar"),
			},
		});
		const keep = (path: string, name: string) =>
			cp(join(sources, path), join(partial, name), { recursive: true });
		await keep("charts/tidemill", "chart");
		await keep("test/node/values.yaml", "values.yaml");
		await rm(sources, { recursive: true });
		await rename(partial, folder);
	} catch (error) {
		await rm(partial, { recursive: true, force: true });
		throw error;
	}
}

async function run(
	command: string,
	args: string[],
	options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<void> {
	try {
		await promisify(execFile)(command, args, {
			...options,
			maxBuffer: 64 * 1024 * 1024,
		});
	} catch (error) {
		const { stdout, stderr } = error as { stdout: string; stderr: string };
		throw new LocalError(
			`Tidemill of commit ${commit} can't be built: ${command} ${args[0]} failed.\n${stdout}\n${stderr}`,
		);
	}
}
