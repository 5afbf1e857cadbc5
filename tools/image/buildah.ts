import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import {
	mkdir,
	mkdtemp,
	readFile,
	rename,
	rm,
	writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import {
	installPackages,
	isInstalled,
} from "../../local/binaries/debian-packages.ts";
import { LocalError } from "../../local/machine/errors.ts";
import { cacheDirectory } from "../../packages/service/cache.ts";

const project = join(import.meta.dirname, "../..");

/** Runs Buildah with these arguments, and returns what it prints. */
export type Buildah = (...args: string[]) => Promise<string>;

/** Why Buildah can't build on this machine; undefined if it can, at least once it is installed. */
export function reasonWithoutBuildah(): string | undefined {
	if (process.platform !== "linux")
		return `Buildah needs Linux, and this is ${process.platform}`;
	if (process.getuid!() !== 0)
		return "Buildah needs root to build without a daemon";
	if (!isInstalled("buildah") && !isInstalled("apt-get"))
		return "there is no Buildah, and no apt-get to install it with";
	return undefined;
}

/**
 * Builds the Dockerfile without a daemon and, where the base image can't be pulled, without an image registry: then a root file
 * system of Debian's packages stands in for it, under the same name. Needs root.
 */
export async function buildArchive(build: {
	/** `registry/repository:tag`. */
	name: string;
	buildArguments: Record<string, string>;
	/** The file that gets the image, as `docker load` and `ctr images import` take it. */
	archive: string;
	say: (text: string) => void;
}): Promise<void> {
	const { name, buildArguments, archive, say } = build;
	await withBuildah(say, async (buildah, directory) => {
		await provideBaseImage(buildah, say);
		const values = Object.entries(buildArguments).flatMap(([key, value]) => [
			"--build-arg",
			`${key}=${value}`,
		]);
		await buildah(
			...["build", "--isolation", "chroot", "--pull=never"],
			...(await npmVolumes(directory)),
			...[...values, "--tag", name, project],
		);
		await rm(archive, { force: true });
		await buildah("push", name, `docker-archive:${archive}:${name}`);
	});
}

/** Gives Buildah a store of its own, so that a stand-in is never taken for the image whose name it has. */
export async function withBuildah<T>(
	say: (text: string) => void,
	use: (buildah: Buildah, directory: string) => Promise<T>,
): Promise<T> {
	const reason = reasonWithoutBuildah();
	if (reason) throw new LocalError(`The image can't be built: ${reason}.`);
	installPackages({ buildah: "buildah" }, say);
	const directory = await mkdtemp(join(tmpdir(), "tidemill-buildah-"));
	const store = ["--root", join(directory, "store")];
	const state = ["--runroot", join(directory, "state")];
	try {
		return await use(
			(...args) => run("buildah", [...store, ...state, ...args]),
			directory,
		);
	} finally {
		await rm(directory, { recursive: true, force: true, maxRetries: 10 });
	}
}

async function provideBaseImage(
	buildah: Buildah,
	say: (text: string) => void,
): Promise<void> {
	const dockerfile = await readFile(join(project, "Dockerfile"), "utf8");
	const name = /^ARG BUILDER=(\S+)$/m.exec(dockerfile)![1]!;
	const refusal = await buildah("pull", name).then(
		() => undefined,
		(error: Error) => error.message.trim().split("\n").at(-1),
	);
	if (refusal === undefined) return;
	say(`${name} can't be pulled (${refusal}): Debian's packages stand in.`);
	const container = (await buildah("from", "scratch")).trim();
	await buildah("add", container, await standIn(name, say), "/");
	await buildah("commit", "--rm", container, name);
}

/** A tar file with Debian, this process's Node and npm, from the cache if it is there. */
async function standIn(
	name: string,
	say: (text: string) => void,
): Promise<string> {
	const [, major, suite] = /:(\d+)-(\w+)$/.exec(name) ?? [];
	if (process.version.split(".")[0] !== `v${major}`)
		throw new LocalError(
			`The Dockerfile builds with ${name}, and this is Node ${process.version}, which can't stand in for it. Name the same version in the Dockerfile and in package.json.`,
		);
	const npm = (await run("npm", ["--version"])).trim();
	const file = join(
		cacheDirectory(process.env),
		"images",
		`${suite}-node-${process.version}-npm-${npm}-${process.arch}.tar`,
	);
	if (existsSync(file)) return file;
	say(`Making a root file system of Debian ${suite}, Node and npm.`);
	installPackages(
		{
			mmdebstrap: "mmdebstrap",
			"/usr/share/keyrings/debian-archive-keyring.gpg":
				"debian-archive-keyring",
		},
		say,
	);
	await mkdir(dirname(file), { recursive: true });
	const partial = `${file}.partial-${process.pid}`;
	try {
		await run(
			"mmdebstrap",
			[
				"--variant=essential",
				// Node's libraries, which an image of Node has.
				"--include=ca-certificates,libatomic1,libstdc++6",
				'--customize-hook=install -D "$STAND_IN_NODE" "$1/usr/local/bin/node"',
				'--customize-hook=npm install --global --prefix "$1/usr/local" --no-progress "npm@$STAND_IN_NPM"',
				"--format=tar",
				...[suite!, partial],
			],
			{ STAND_IN_NODE: process.execPath, STAND_IN_NPM: npm },
		);
		await rename(partial, file);
	} finally {
		await rm(partial, { force: true });
	}
	return file;
}

/** Mounts with which npm asks the registry that it asks on this machine, with the same certificates and cache. */
async function npmVolumes(directory: string): Promise<string[]> {
	const setting = async (name: string) => {
		const text = (await run("npm", ["config", "get", name])).trim();
		return /^(null|undefined|)$/.test(text) ? undefined : text;
	};
	const files = [await setting("globalconfig"), await setting("userconfig")];
	const texts = files
		.filter((file) => file && existsSync(file))
		.map((file) => readFile(file!, "utf8"));
	const certificates =
		(await setting("cafile")) ?? process.env.NODE_EXTRA_CA_CERTS;
	const mounted = "/etc/ssl/certs/npm.pem";
	const settings = join(directory, "npmrc");
	// The last line of a name counts. Settings may hold a token.
	const lines = [
		...(await Promise.all(texts)),
		`registry=${await setting("registry")}`,
		...(certificates ? [`cafile=${mounted}`] : []),
	];
	await writeFile(settings, `${lines.join("\n")}\n`, { mode: 0o600 });
	const cache = await setting("cache");
	await mkdir(cache!, { recursive: true });
	return [
		`${settings}:/root/.npmrc:ro`,
		`${cache}:/root/.npm`,
		...(certificates ? [`${certificates}:${mounted}:ro`] : []),
	].flatMap((volume) => ["--volume", volume]);
}

/** Returns standard output. Throws a LocalError with all that the program has printed. */
async function run(
	command: string,
	args: string[],
	env: Record<string, string> = {},
): Promise<string> {
	try {
		const { stdout } = await promisify(execFile)(command, args, {
			// Outside of the project, whose own npm settings aren't the machine's.
			cwd: tmpdir(),
			env: { ...process.env, ...env },
			maxBuffer: 64 * 1024 ** 2,
		});
		return stdout;
	} catch (error) {
		const { stdout, stderr, message } = error as Error & {
			stdout?: string;
			stderr?: string;
		};
		throw new LocalError(
			`${command} ${args[0]} failed:\n${stdout ?? ""}${stderr || message}`,
		);
	}
}
