import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalError, runCommand } from "../../local/machine/errors.ts";
import { buildArchive } from "./buildah.ts";

/*
 * `make image`: builds the Dockerfile with the first container engine that answers. `BUILDER` names another image of Node 26.
 * `BUILDER=here` needs neither a daemon nor an image registry, but root on Debian; then `ARCHIVE` can name a file that gets the
 * image in place of the engine.
 */
const root = join(import.meta.dirname, "../..");
const name = process.env.IMAGE || "tidemill:dev";
const { BUILDER: builder, ARCHIVE: archive } = process.env;

interface Engine {
	/** What builds, up to its options. */
	build: string[];
	/** Reads the image from a file. */
	load: (archive: string) => string[];
}

const buildah = ["buildah", "--storage-driver", "vfs"];

const engines: Record<string, Engine> = {
	docker: {
		build: ["docker", "build"],
		load: (archive) => ["docker", "load", "--input", archive],
	},
	podman: {
		build: ["podman", "build"],
		load: (archive) => ["podman", "load", "--input", archive],
	},
	buildah: {
		// It needs no daemon, and as root no namespaces of its own.
		build: [...buildah, "build", "--isolation", "chroot"],
		load: (archive) => [...buildah, "pull", `docker-archive:${archive}`],
	},
};

await runCommand(async () => {
	const labels = await labelArguments();
	const status = builder === "here" ? await buildHere(labels) : build(labels);
	if (status === 0) console.log(`${name} is built.`);
	return status;
});

function build(labels: Record<string, string>): number {
	const engine = workingEngine();
	console.log(`Building ${name} with ${engine.build[0]}.`);
	const values = { ...labels, ...(builder && { BUILDER: builder }) };
	return run([
		...engine.build,
		...Object.entries(values).flatMap(([key, value]) => [
			"--build-arg",
			`${key}=${value}`,
		]),
		...["--tag", name, root],
	]);
}

async function buildHere(labels: Record<string, string>): Promise<number> {
	console.log(`Building ${name} with buildah, in a store of its own.`);
	const options = { name, buildArguments: labels, say: console.log };
	if (archive) {
		await buildArchive({ ...options, archive });
		return 0;
	}
	const temporary = await mkdtemp(join(tmpdir(), "tidemill-image-"));
	try {
		const file = join(temporary, "image.tar");
		await buildArchive({ ...options, archive: file });
		return run(workingEngine().load(file));
	} finally {
		await rm(temporary, { recursive: true, force: true });
	}
}

function workingEngine(): Engine {
	for (const [command, engine] of Object.entries(engines)) {
		const probe = command === "docker" ? ["info"] : ["--version"];
		if (spawnSync(command, probe, { stdio: "ignore" }).status === 0)
			return engine;
	}
	throw new LocalError(
		"No container engine answers. Start Docker, or install Podman or Buildah, and run make image again.",
	);
}

function run([command, ...args]: string[]): number {
	return spawnSync(command!, args, { stdio: "inherit" }).status ?? 1;
}

async function labelArguments(): Promise<Record<string, string>> {
	const { version } = JSON.parse(
		await readFile(join(root, "package.json"), "utf8"),
	);
	const git = (...args: string[]) =>
		execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
	return {
		VERSION: version,
		REVISION: git("rev-parse", "HEAD"),
		// The commit's time, so that the same commit gives the same image.
		CREATED: git("log", "-1", "--format=%cI"),
	};
}
