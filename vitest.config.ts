import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import {
	defineConfig,
	type TestProjectInlineConfiguration,
} from "vitest/config";
import { endingOf, notOurs, type Room, rooms } from "./test/lanes/tiers.ts";
import { sparingGo } from "./test/support/servers/test-server.ts";

const report = process.env.TEST_REPORT;
/** A bare `npx vitest` runs no deep test. `TEST_DEEP=1` lets it, and so does test/run.ts. */
const withoutDeep = process.env.TEST_DEEP ? [] : [`**/*${endingOf("deep")}`];

// Code that Git ignores. Here, so that a bare `npx vitest` works in a fresh clone, too.
execFileSync(process.execPath, [
	join(import.meta.dirname, "tools/generate/code.ts"),
]);

// What tests and their processes leave in the temporary directory goes with the run.
const temporary = mkdtempSync(join(tmpdir(), "tidemill-test-"));
process.env.TMPDIR = temporary;
// Kept for the next run: it saves a tenth of the unit tests' CPU time.
process.env.NODE_COMPILE_CACHE ??= join(
	import.meta.dirname,
	"node_modules/.compile-cache",
);
// For kubectl and Helm, too.
Object.assign(process.env, sparingGo);
process.on("exit", () =>
	rmSync(temporary, { recursive: true, force: true, maxRetries: 10 }),
);

/** It halves the time of collecting garbage. */
const execArgv = ["--max-semi-space-size=64"];

/** The tests on servers of one folder, with what its setup.ts starts. One project after the other: neighbours only make servers late. */
function onServers(
	{ name, folder, setup }: Room,
	index: number,
): TestProjectInlineConfiguration {
	return {
		test: {
			name,
			sequence: { groupOrder: index + 2 },
			include: [`${folder}/**/*.{laptop,all,deep}.test.ts`],
			exclude: [...notOurs, ...withoutDeep],
			globalSetup: ["test/lanes/program.ts", ...(setup ? [setup] : [])],
			execArgv,
			fileParallelism: false,
			// In one process each file's code isn't loaded anew, which takes a second or two.
			isolate: false,
			testTimeout: 1_200_000,
			hookTimeout: 1_200_000,
		},
	};
}

const all = rooms();

export default defineConfig({
	test: {
		// TEST_REPORT names a file for machines to read (test/run.ts counts by it).
		reporters: report
			? [
					"default",
					["json", { outputFile: report }],
					...(process.env.TEST_COSTS ? ["./test/lanes/cpu-reporter.ts"] : []),
				]
			: ["default"],
		// Vitest would leave one core of two idle.
		maxWorkers: availableParallelism(),
		// Node itself reads TypeScript; Vite's transforms take longer.
		experimental: { viteModuleRunner: false },
		projects: [
			{
				test: {
					name: "unit",
					sequence: { groupOrder: 0 },
					include: ["**/*.test.ts"],
					exclude: ["**/*.{laptop,all,deep}.test.ts", ...notOurs],
					execArgv,
					// Loading the code anew for each file takes longer than the tests do.
					isolate: false,
					// What takes a second alone may take ten beside others.
					testTimeout: 300_000,
					hookTimeout: 300_000,
				},
			},
			// What stands beside the code and waits, or starts processes.
			{
				test: {
					name: "beside",
					sequence: { groupOrder: 1 },
					include: ["**/*.{laptop,all,deep}.test.ts"],
					exclude: [
						...all.map(({ folder }) => `${folder}/**`),
						...notOurs,
						...withoutDeep,
					],
					testTimeout: 600_000,
					hookTimeout: 600_000,
				},
			},
			...all.map(onServers),
		],
	},
});
