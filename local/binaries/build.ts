import { spawn } from "node:child_process";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { problem } from "../machine/errors.ts";
import { type BinaryName, pinnedBinaries } from "./pinned.ts";

/** Why Go could not build, with its last words. */
export class BuildFailure extends Error {
	override name = "BuildFailure";
}

/** Go ran and failed. */
class GoFailure extends BuildFailure {}

/** How many packages Go has compiled of those that its cache lacks. */
interface Packages {
	compiled: number;
	total: number;
}

interface BuildSurroundings {
	env: NodeJS.ProcessEnv;
	signal: AbortSignal;
	/** Hears what Go does, and how far it is. */
	report: (step: string, packages?: Packages) => void;
}

const listTries = 3;
const listPauseMs = 1_000;

/**
 * For `go build` and `go list`: `-s` drops what debuggers read, and not writing it first saves a fifth of the CPU time (cmd/compile,
 * -dwarf). Stack traces stay.
 */
export const goFlags = ["-trimpath", "-gcflags=all=-dwarf=false"];

const modules = join(import.meta.dirname, "../modules");

/**
 * Builds programs of one module (`local/modules/<module>`, pinned by its go.sum) and puts each at its target. One call builds
 * all, because they share most packages. Throws {@link BuildFailure}, or a LocalError when the disk is full.
 */
export async function buildPrograms(
	targets: Map<BinaryName, string>,
	surroundings: BuildSurroundings,
): Promise<void> {
	const pins = [...targets.keys()].map((name) => pinnedBinaries[name]);
	const { module, ldflags = "", tags } = pins[0]!;
	const packages = pins.map((pin) => pin.main ?? pin.package);
	const go = new Go(join(modules, module), tags, surroundings);
	const total = await go.countStale(packages);
	const scratch = `${[...targets.values()][0]}.build`;
	await mkdir(scratch);
	try {
		// Several packages need a folder as -o; a single one may have any name.
		const [only] = targets.keys();
		const output = packages.length === 1 ? join(scratch, only!) : `${scratch}/`;
		await go.build(packages, output, `-s -w ${ldflags}`.trim(), total);
		for (const [name, target] of targets)
			await rename(join(scratch, name), target);
	} finally {
		await rm(scratch, { recursive: true, force: true });
	}
}

class Go {
	readonly #directory: string;
	readonly #env: NodeJS.ProcessEnv;
	readonly #signal: AbortSignal;
	readonly #report: BuildSurroundings["report"];

	constructor(
		directory: string,
		tags: string | undefined,
		{ env, signal, report }: BuildSurroundings,
	) {
		this.#directory = directory;
		// Neither a surrounding workspace nor a C compiler may change the build.
		this.#env = { ...env, CGO_ENABLED: "0", GOWORK: "off" };
		if (tags) this.#env.GOFLAGS = `${env.GOFLAGS ?? ""} -tags=${tags}`.trim();
		this.#signal = signal;
		this.#report = report;
	}

	/**
	 * Counts the packages that are missing from Go's build cache. Downloads some hundred modules as needed. Go retries no
	 * download, but keeps what it has, so a new attempt continues.
	 */
	async countStale(packages: string[]): Promise<number> {
		for (let tries = 1; ; tries++)
			try {
				return await this.#list(packages);
			} catch (error) {
				if (!(error instanceof GoFailure) || tries === listTries) throw error;
				this.#report(`retrying: ${error.message}`);
				await delay(tries * listPauseMs, undefined, { signal: this.#signal });
			}
	}

	async #list(packages: string[]): Promise<number> {
		const format = "{{if .Stale}}{{.ImportPath}}{{end}}";
		let stale = 0;
		let downloaded = 0;
		await this.#run(
			["list", "-deps", ...goFlags, "-f", format, ...packages],
			(line) => {
				if (line.startsWith("go: downloading"))
					this.#report(`downloading Go modules (${++downloaded})`);
				else stale++;
			},
		);
		return stale;
	}

	async build(
		packages: string[],
		output: string,
		ldflags: string,
		total: number,
	): Promise<void> {
		let compiled = 0;
		this.#report("compiling");
		await this.#run(
			// -v prints each package as it is compiled.
			[
				"build",
				"-v",
				...goFlags,
				"-ldflags",
				ldflags,
				"-o",
				output,
				...packages,
			],
			() => {
				compiled++;
				this.#report(
					compiled < total ? `${compiled} of ${total} packages` : "linking",
					{ compiled, total },
				);
			},
		);
	}

	/** Runs go and passes each line of both outputs to `onLine`. */
	async #run(args: string[], onLine: (line: string) => void): Promise<void> {
		const { promise, resolve, reject } = Promise.withResolvers<number | null>();
		const child = spawn("go", args, {
			cwd: this.#directory,
			env: this.#env,
			signal: this.#signal,
			stdio: ["ignore", "pipe", "pipe"],
		});
		child.on(
			"error",
			(error: NodeJS.ErrnoException) =>
				// An abort is handled on "close", when go has ended.
				error.name === "AbortError" ||
				reject(
					new BuildFailure(
						error.code === "ENOENT"
							? "there is no Go on this machine"
							: `go can't be started: ${error.message}`,
					),
				),
		);
		child.on("close", resolve);
		const words: string[] = [];
		for (const stream of [child.stdout, child.stderr])
			createInterface({ input: stream }).on("line", (line) => {
				if (!line) return;
				words.push(line);
				if (words.length > 20) words.shift();
				onLine(line);
			});
		const code = await promise;
		this.#signal.throwIfAborted();
		if (code === 0) return;
		const full = /(\/[^\s:]+): no space left on device/.exec(words.join("\n"));
		if (full) throw problem.diskFull(full[1]!);
		throw new GoFailure(
			`go ${args[0]} in ${this.#directory} ended with ${code}: ${words.slice(-3).join(" / ")}`,
		);
	}
}
