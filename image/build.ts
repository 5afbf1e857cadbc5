import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeRootDirectory } from "./root-directory.ts";

/*
 * `make image`: builds the Dockerfile with the first container engine that answers. `BUILDER=here` takes Node and the
 * libraries of this Linux machine in place of those of an image, so that no image registry is needed. `ARCHIVE` names a file
 * that gets the image, which then leaves the engine.
 */
const root = join(import.meta.dirname, "..");
const name = process.env.IMAGE || "tidemill:dev";
const builder = process.env.BUILDER;
const archive = process.env.ARCHIVE;
interface Engine {
	/** What builds, up to its options. */
	build: string[];
	/** Writes the image to a file that every engine loads. */
	save: (archive: string) => string[];
	remove: string[];
}

const buildah = ["buildah", "--storage-driver", "vfs"];

const engines: Record<string, Engine> = {
	docker: {
		build: ["docker", "build"],
		save: (archive) => ["docker", "save", "--output", archive, name],
		remove: ["docker", "image", "rm", name],
	},
	podman: {
		build: ["podman", "build"],
		save: (archive) => ["podman", "save", "--output", archive, name],
		remove: ["podman", "image", "rm", name],
	},
	buildah: {
		// It needs no daemon, and as root no namespaces of its own.
		build: [...buildah, "build", "--isolation", "chroot"],
		save: (archive) => [
			...buildah,
			"push",
			name,
			`docker-archive:${archive}:${name}`,
		],
		remove: [...buildah, "rmi", name],
	},
};

const temporary = await mkdtemp(join(tmpdir(), "tidemill-image-"));
try {
	const engine = workingEngine();
	console.log(`Building ${name} with ${engine.build[0]}.`);
	const sources = builder === "here" ? await filesOfThisMachine() : [];
	if (builder && builder !== "here")
		sources.push("--build-arg", `BUILDER=${builder}`);
	const [command, ...args] = [...engine.build, ...sources];
	const labels = Object.entries(await labelArguments());
	const build = spawnSync(
		command!,
		[
			...args,
			...labels.flatMap(([key, value]) => ["--build-arg", `${key}=${value}`]),
			"--tag",
			name,
			root,
		],
		{ stdio: "inherit" },
	);
	process.exitCode = build.status ?? 1;
	if (build.status === 0 && archive) saveAndRemove(engine, archive);
	if (build.status === 0) console.log(`${name} is built.`);
} finally {
	await rm(temporary, { recursive: true, force: true });
}

function workingEngine(): Engine {
	for (const [command, engine] of Object.entries(engines)) {
		const probe = command === "docker" ? ["info"] : ["--version"];
		if (spawnSync(command, probe, { stdio: "ignore" }).status === 0)
			return engine;
	}
	throw new Error(
		"No container engine answers. Start Docker, or install Podman or Buildah, and run make image again.",
	);
}

function saveAndRemove(engine: Engine, archive: string): void {
	for (const [command, ...args] of [engine.save(archive), engine.remove])
		execFileSync(command!, args, { stdio: ["ignore", "ignore", "inherit"] });
}

/** The Dockerfile's first stage is replaced by a folder. */
async function filesOfThisMachine(): Promise<string[]> {
	console.log("Collecting Node, libraries and the program of this machine.");
	await writeRootDirectory(join(temporary, "image"));
	return ["--build-context", `files=${temporary}`];
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
