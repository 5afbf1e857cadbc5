import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { LaneEnd, VitestReport } from "./report.ts";
import { endedChildrenSeconds, readCpuSeconds, sumUp } from "./report.ts";
import { withSecondTry } from "./second-try.ts";
import { endingOf, type Tier } from "./tiers.ts";

export interface LaneOptions {
	name: string;
	/** A project of vitest.config.ts, of which the lane has the files of one tier. */
	project: string;
	tier: Tier;
	/** Which part of them, such as "1/4"; all if undefined. */
	shard?: string | undefined;
	root: string;
	/** Folder of the JSON reports. */
	reports: string;
	/** Failures after which the lane gives up. */
	hopeless: number;
	/** When it is stopped, on the clock of performance.now(). */
	deadlineMs: number;
	/** Only these files, by their path from the root. */
	files?: string[];
}

/** One vitest process. */
export class Lane implements LaneEnd {
	readonly #options: LaneOptions;
	exitCode: number | null | undefined;
	report: VitestReport | undefined;
	cpuSecondsOf: ReadonlyMap<string, number> = new Map();
	#seconds = 0;
	#cpuSeconds: number | undefined;

	constructor(options: LaneOptions) {
		this.#options = options;
	}

	get name(): string {
		return this.#options.name;
	}

	/** Runs some of its files again, alone, and takes their results for its own. */
	async tryAgain(files: string[]): Promise<void> {
		const options = this.#options;
		const second = new Lane({
			...options,
			name: `${options.name}-again`,
			shard: undefined,
			files,
		});
		await second.run();
		if (!this.report || !second.report) return;
		this.report = withSecondTry(this.report, second.report);
		this.exitCode = second.exitCode;
	}

	get summary(): string {
		const { name } = this.#options;
		if (this.exitCode === undefined) return `${name}: not run`;
		const { passed, failed } = sumUp([this]);
		const crash = this.report ? "" : ", ended without a report";
		const cpu =
			this.#cpuSeconds === undefined
				? ""
				: `, ${Math.round(this.#cpuSeconds)} s of CPU time`;
		return `${name}: ${passed} passed, ${failed} failed${crash}, ${Math.round(this.#seconds)} s${cpu}`;
	}

	/** Prints vitest's lines, each with the lane's name before it. */
	async run(): Promise<void> {
		const { name, project, tier, shard, root, reports, hopeless, files } =
			this.#options;
		const startedMs = performance.now();
		const file = join(reports, `${name}.json`);
		// The unit tests run side by side, so that nobody can say which cost what.
		const costs =
			tier === "check" ? undefined : join(reports, `${name}.cpu.tsv`);
		const vitest = spawn(
			process.execPath,
			[
				join(root, "node_modules/vitest/vitest.mjs"),
				"run",
				`--bail=${hopeless}`,
				"--project",
				project,
				...(shard ? ["--shard", shard] : []),
				...(files ?? (tier === "check" ? [] : [endingOf(tier)])),
			],
			{
				cwd: root,
				stdio: ["ignore", "pipe", "pipe"],
				env: {
					...process.env,
					TEST_REPORT: file,
					...(costs && { TEST_COSTS: costs }),
					...(tier === "deep" && { TEST_DEEP: "1" }),
				},
			},
		);
		// However this process ends, no lane outlives it.
		const stop = () => void vitest.kill("SIGTERM");
		process.once("exit", stop);
		const patience = setTimeout(
			stop,
			Math.max(0, this.#options.deadlineMs - startedMs),
		);
		for (const stream of [vitest.stdout, vitest.stderr])
			createInterface({ input: stream }).on("line", (line) =>
				console.log(`${name} | ${line}`),
			);
		vitest.once("exit", () => {
			this.#cpuSeconds = cpuSecondsSinceLast();
		});
		const [exitCode] = (await once(vitest, "close")) as [number | null];
		process.off("exit", stop);
		clearTimeout(patience);
		this.exitCode = exitCode;
		this.report = await readFile(file, "utf8").then(
			JSON.parse,
			() => undefined,
		);
		if (costs)
			this.cpuSecondsOf = await readFile(costs, "utf8").then(
				readCpuSeconds,
				() => new Map(),
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
