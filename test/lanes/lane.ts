import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { LaneEnd, VitestReport } from "./report.ts";
import { endedChildrenSeconds, sumUp } from "./report.ts";

export interface LaneOptions {
	name: string;
	/** Projects of vitest.config.ts, one after the other. */
	projects: string[];
	/** Of their files, those below these folders; all if undefined. */
	folders?: string[];
	/** Globs of those that another lane has. */
	without?: string[];
	root: string;
	/** Folder of the JSON reports. */
	reports: string;
	/** Failures after which the lane gives up. */
	hopeless: number;
}

/** One vitest process. */
export class Lane implements LaneEnd {
	readonly #options: LaneOptions;
	exitCode: number | null | undefined;
	report: VitestReport | undefined;
	#seconds = 0;
	#cpuSeconds: number | undefined;

	constructor(options: LaneOptions) {
		this.#options = options;
	}

	get summary(): string {
		const { name } = this.#options;
		if (this.exitCode === undefined) return `${name}: not run`;
		const { passed, failed } = sumUp([this]);
		const crash = this.report ? "" : ", crashed without a report";
		const cpu =
			this.#cpuSeconds === undefined
				? ""
				: `, ${Math.round(this.#cpuSeconds)} s of CPU time`;
		return `${name}: ${passed} passed, ${failed} failed${crash}, ${Math.round(this.#seconds)} s${cpu}`;
	}

	/** Prints vitest's lines, each with the lane's name before it. */
	async run(): Promise<void> {
		const { name, projects, root, reports, hopeless } = this.#options;
		const { folders = [], without = [] } = this.#options;
		const startedMs = performance.now();
		const file = join(reports, `${name}.json`);
		const vitest = spawn(
			process.execPath,
			[
				join(root, "node_modules/vitest/vitest.mjs"),
				"run",
				`--bail=${hopeless}`,
				...projects.flatMap((project) => ["--project", project]),
				...folders,
			],
			{
				cwd: root,
				stdio: ["ignore", "pipe", "pipe"],
				env: {
					...process.env,
					TEST_REPORT: file,
					TEST_WITHOUT: without.join(),
				},
			},
		);
		// However this process ends, no lane outlives it.
		const stop = () => void vitest.kill("SIGTERM");
		process.once("exit", stop);
		for (const stream of [vitest.stdout, vitest.stderr])
			createInterface({ input: stream }).on("line", (line) =>
				console.log(`${name} | ${line}`),
			);
		vitest.once("exit", () => {
			this.#cpuSeconds = cpuSecondsSinceLast();
		});
		const [exitCode] = (await once(vitest, "close")) as [number | null];
		process.off("exit", stop);
		this.exitCode = exitCode;
		this.report = await readFile(file, "utf8").then(
			JSON.parse,
			() => undefined,
		);
		this.#seconds = (performance.now() - startedMs) / 1000;
		console.log(this.summary);
	}
}

let countedSeconds = 0;

/** CPU time of the children that have ended since the last call; undefined where the system doesn't say. */
function cpuSecondsSinceLast(): number | undefined {
	try {
		const before = countedSeconds;
		countedSeconds = endedChildrenSeconds(
			readFileSync("/proc/self/stat", "utf8"),
		);
		return countedSeconds - before;
	} catch {
		return undefined;
	}
}
